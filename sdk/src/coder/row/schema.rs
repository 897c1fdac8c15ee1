//! What fields rows have.

use super::{FieldValue, Row};
use crate::coder::CoderError;

/// The fields of rows, in an order, and the order that they are written in.
///
/// ```
/// use purlin_sdk::coder::{Field, FieldType, Schema};
/// let schema = Schema::new([
///     Field::new("item", FieldType::STRING),
///     Field::new("price", FieldType::decimal().nullable()),
/// ]);
/// assert_eq!(schema.index_of("price"), Some(1));
/// assert_eq!(Schema::from_bytes(&schema.to_bytes())?, schema);
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `schema.proto`, `Schema`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    fields: Vec<Field>,
    id: String,
    /// For each place on the wire, the field that is there; none when it is the fields' own order.
    order: Option<Vec<usize>>,
}

impl Schema {
    /// The schema with these fields, which are written in this order.
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Schema {
        Schema { fields: fields.into_iter().collect(), id: String::new(), order: None }
    }

    /// The same schema under a name of its own, by which an SDK knows it again.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Schema {
        self.id = id.into();
        self
    }

    /// The same fields written in another order: for each field its place, counted from 0. Fields that come later keep
    /// earlier ones readable, wherever they are put in the schema.
    ///
    /// # Errors
    /// When the places are not each of 0 to the number of fields once.
    pub fn with_encoding_positions(
        mut self,
        positions: impl IntoIterator<Item = usize>,
    ) -> Result<Schema, CoderError> {
        let positions: Vec<usize> = positions.into_iter().collect();
        let mut order = vec![usize::MAX; self.fields.len()];
        let mut fits = positions.len() == order.len();
        for (field, position) in positions.iter().enumerate() {
            match order.get_mut(*position) {
                Some(place) if *place == usize::MAX => *place = field,
                _ => fits = false,
            }
        }
        if !fits {
            return Err(CoderError::msg(format_args!(
                "the encoding positions {positions:?} are not those of {} fields, each once",
                self.fields.len()
            )));
        }
        self.order = Some(order);
        Ok(self)
    }

    /// The fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The schema's own name; empty when it has none.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where the field of this name is.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The value of the field of this name in a row of this schema.
    pub fn get<'r>(&self, row: &'r Row, name: &str) -> Option<&'r FieldValue> {
        row.values().get(self.index_of(name)?)
    }

    /// For each field its place on the wire, when it was said.
    pub(super) fn encoding_positions(&self) -> Option<Vec<usize>> {
        let order = self.order.as_ref()?;
        let mut positions = vec![0; order.len()];
        order.iter().enumerate().for_each(|(position, field)| positions[*field] = position);
        Some(positions)
    }

    /// The fields with their indices, in the order of the wire.
    pub(super) fn in_wire_order(&self) -> impl Iterator<Item = (usize, &Field)> {
        (0..self.fields.len()).map(move |place| {
            let index = self.order.as_ref().map_or(place, |order| order[place]);
            (index, &self.fields[index])
        })
    }
}

/// A field of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it means, for people.
    pub description: String,
    /// What it holds.
    pub field_type: FieldType,
}

impl Field {
    /// The field of this name and type.
    pub fn new(name: impl Into<String>, field_type: FieldType) -> Field {
        Field { name: name.into(), description: String::new(), field_type }
    }
}

/// What a field, or what an array or a map holds.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldType {
    /// The kind of its values.
    pub kind: FieldKind,
    /// Whether the value may be missing.
    pub nullable: bool,
}

/// The kinds of values that fields hold.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// One byte.
    Byte,
    /// 16 bits, big endian.
    Int16,
    /// 32 bits, as a varint.
    Int32,
    /// 64 bits, as a varint.
    Int64,
    /// A 32-bit float, big endian.
    Float,
    /// A 64-bit float, big endian.
    Double,
    /// Text.
    String,
    /// True or false.
    Boolean,
    /// Bytes.
    Bytes,
    /// Elements of a type.
    Array(Box<FieldType>),
    /// Elements of a type, of which there may be more than memory holds.
    Iterable(Box<FieldType>),
    /// From keys to values.
    Map(Box<FieldType>, Box<FieldType>),
    /// Rows of another schema.
    Row(Schema),
    /// Values with a meaning beyond their representation.
    Logical(Box<LogicalType>),
}

/// A meaning, and the type that its values are written as.
#[derive(Clone, Debug, PartialEq)]
pub struct LogicalType {
    /// The name that SDKs know it by.
    pub urn: String,
    /// What an SDK needs to know beside.
    pub payload: Vec<u8>,
    /// The type that the values are written as.
    pub representation: FieldType,
    /// The argument and its type: how long fixed bytes are, for one.
    pub argument: Option<(FieldType, FieldValue)>,
}

impl FieldType {
    /// One byte.
    pub const BYTE: FieldType = FieldType::of(FieldKind::Byte);
    /// 16 bits.
    pub const INT16: FieldType = FieldType::of(FieldKind::Int16);
    /// 32 bits.
    pub const INT32: FieldType = FieldType::of(FieldKind::Int32);
    /// 64 bits.
    pub const INT64: FieldType = FieldType::of(FieldKind::Int64);
    /// A 32-bit float.
    pub const FLOAT: FieldType = FieldType::of(FieldKind::Float);
    /// A 64-bit float.
    pub const DOUBLE: FieldType = FieldType::of(FieldKind::Double);
    /// Text.
    pub const STRING: FieldType = FieldType::of(FieldKind::String);
    /// True or false.
    pub const BOOLEAN: FieldType = FieldType::of(FieldKind::Boolean);
    /// Bytes.
    pub const BYTES: FieldType = FieldType::of(FieldKind::Bytes);

    /// The type of this kind, of which no value is missing.
    pub const fn of(kind: FieldKind) -> FieldType {
        FieldType { kind, nullable: false }
    }

    /// The same type, of which values may be missing.
    #[must_use]
    pub fn nullable(mut self) -> FieldType {
        self.nullable = true;
        self
    }

    /// Arrays of `of`.
    pub fn array(of: FieldType) -> FieldType {
        FieldType::of(FieldKind::Array(Box::new(of)))
    }

    /// Maps from `key` to `value`.
    pub fn map(key: FieldType, value: FieldType) -> FieldType {
        FieldType::of(FieldKind::Map(Box::new(key), Box::new(value)))
    }

    /// Rows of `schema`.
    pub fn row(schema: Schema) -> FieldType {
        FieldType::of(FieldKind::Row(schema))
    }
}
