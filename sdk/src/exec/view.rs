//! Side inputs: building them, and looking them up.

use std::{any::Any, cell::RefCell, collections::HashMap, fmt, hash::Hash, sync::Arc};

use foldhash::fast::FixedState;

use super::{
    AnyTable, BundleInput, Downstream, GroupFactory, GroupOp, Kernel, KernelResult, KernelSpec, ListFold,
    Shard,
    group::{Collector, Fold, WindowTable, WindowTables},
    save,
};
use crate::{
    DoFnError, Element, Grouped, Key, Phase, PipelineError, Result, Step,
    batch::{AnyBatch, Batch, ErasedBatch, Row},
    coder_slot::CoderSlot,
    view::{ListView, MapView, MultimapView, View, ViewHasher},
    window::{AccumulationMode, TimestampCombiner, Window, WindowFn, WindowingStrategy, check_assigned},
};

/// A side input that was built: a `Result<V, String>` inside, since what is wrong with it is an error where it is read.
pub type ViewValue = Arc<dyn Any + Send + Sync>;

/// Something a window. Windows are hashed for every element somewhere, and nobody chooses them to collide.
pub type ByWindow<T> = HashMap<Window, T, FixedState>;

/// A side input's window function, and its windows that are ready.
pub type ReadyView = (Arc<dyn WindowFn>, ByWindow<ViewValue>);

/// The window of a side input that a main element in `window` looks at.
///
/// # Errors
/// When the side input's window function has none, or gives one that there cannot be.
pub fn side_window(window_fn: &dyn WindowFn, window: &Window) -> Result<Window> {
    let side = window_fn.side_window(window.max_timestamp())?;
    check_assigned(window_fn, std::slice::from_ref(&side)).map_err(DoFnError::msg)?;
    Ok(side)
}

/// Side inputs that are asked for when they are read.
pub trait ViewSource: Send + Sync {
    /// The window function of the side input with this path; nothing when the source does not have it.
    fn window_fn(&self, path: &str) -> Option<Arc<dyn WindowFn>>;

    /// The side input's value for one of its windows. May block.
    ///
    /// # Errors
    /// When it cannot be had.
    fn value(&self, path: &str, window: &Window) -> Result<ViewValue>;
}

/// The side inputs that a bundle may read.
#[derive(Clone, Default)]
pub struct ViewSnapshot {
    /// For each view by path: its window function, and the windows that are ready.
    pub views: HashMap<Arc<str>, ReadyView>,
    /// Where those come from that are not there.
    pub source: Option<Arc<dyn ViewSource>>,
}

impl fmt::Debug for ViewSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.views.keys()).finish()
    }
}

impl ViewSnapshot {
    /// The value of the view at `path` for a main element in `window`, and the view's window that it is of.
    fn value(&self, path: &str, window: &Window) -> Result<(ViewValue, Window)> {
        if let Some((window_fn, values)) = self.views.get(path) {
            let side = side_window(&**window_fn, window)?;
            let value = values.get(&side).cloned().ok_or_else(|| {
                DoFnError::msg(format!("the side input `{path}` is gone for {side}: the element is too late"))
            })?;
            return Ok((value, side));
        }
        let source = self.source.as_ref().and_then(|source| Some((source, source.window_fn(path)?)));
        let Some((source, window_fn)) = source else {
            return Err(DoFnError::msg(format!("there is no side input `{path}` in this pipeline")));
        };
        let side = side_window(&*window_fn, window)?;
        Ok((source.value(path, &side)?, side))
    }

    /// The value of `view` for a main element in `window`.
    pub(crate) fn get<V: Clone + Send + Sync + 'static>(&self, view: &View<V>, window: &Window) -> Result<V> {
        self.find(view, window).map(|(value, _)| value)
    }

    /// The value, and where it is kept.
    fn find<V: Clone + Send + Sync + 'static>(
        &self,
        view: &View<V>,
        window: &Window,
    ) -> Result<(V, ViewValue)> {
        let (value, side) = self.value(view.path(), window)?;
        match value.downcast_ref::<std::result::Result<V, String>>() {
            Some(Ok(v)) => Ok((v.clone(), value)),
            Some(Err(e)) => Err(DoFnError::msg(format!("the side input `{}` in {side}: {e}", view.path()))),
            None => Err(DoFnError::msg(format!(
                "the side input `{}` does not read as `{}`",
                view.path(),
                std::any::type_name::<V>()
            ))),
        }
    }
}

/// An element with the number of the firing that brought it: that of the grouping before the view. Those that no grouping
/// fired have one number.
type Fired<T> = (i64, T);

/// The number of what an earlier pane of the view had already.
const BEFORE: i64 = i64::MIN;

/// What was last found of each side input in a bundle: elements of one window follow each other, and the look-up is
/// then one a window and not one an element.
#[derive(Default)]
pub(crate) struct LastSides(RefCell<Vec<(Arc<str>, Window, ViewValue)>>);

impl LastSides {
    /// What [`ViewSnapshot::get`] gives.
    pub(crate) fn get<V: Clone + Send + Sync + 'static>(
        &self,
        views: &ViewSnapshot,
        view: &View<V>,
        window: &Window,
    ) -> Result<V> {
        let known =
            self.0.borrow().iter().find(|(path, last, _)| path == view.path() && last == window).and_then(
                |(.., value)| value.downcast_ref::<std::result::Result<V, String>>()?.as_ref().ok().cloned(),
            );
        if let Some(value) = known {
            return Ok(value);
        }
        let (value, kept) = views.find(view, window)?;
        let mut last = self.0.borrow_mut();
        let new = (view.path().clone(), window.clone(), kept);
        match last.iter_mut().find(|(path, ..)| path == view.path()) {
            Some(old) => *old = new,
            None => last.push(new),
        }
        Ok(value)
    }
}

/// Turns the elements of a window into what the side input reads as.
pub(crate) trait ViewShape<T>: Clone + Send + Sync + 'static {
    type Value: Clone + Send + Sync + 'static;
    /// Whether each firing of the collection's trigger replaces what was there; otherwise its elements are added.
    const REPLACES: bool = false;
    /// Whether a later firing takes back some of what earlier ones said; see [`settle`](Self::settle).
    const SETTLES: bool = false;
    fn build(&self, elements: Vec<T>) -> std::result::Result<Self::Value, String>;
    /// Elements that [`build`](ViewShape::build) makes the value of.
    fn elements(value: &Self::Value) -> Vec<T>;
    /// Leaves of the elements what later firings have not replaced.
    fn settle(_elements: &mut Vec<Fired<T>>) {}
}

#[derive(Clone, Debug)]
pub(crate) struct AsSingleton<T> {
    pub(crate) default: Option<T>,
}

impl<T: Element> ViewShape<T> for AsSingleton<T> {
    type Value = T;
    const REPLACES: bool = true;

    fn settle(elements: &mut Vec<Fired<T>>) {
        if let Some(latest) = elements.iter().map(|(firing, _)| *firing).max() {
            elements.retain(|(firing, _)| *firing == latest);
        }
    }

    fn build(&self, mut elements: Vec<T>) -> std::result::Result<T, String> {
        match (elements.len(), elements.pop(), &self.default) {
            (1, Some(one), _) => Ok(one),
            (0, _, Some(default)) => Ok(default.clone()),
            (0, ..) => {
                Err("a singleton of an empty collection; give it a default by `view_as_singleton_or`".into())
            }
            (n, ..) => Err(format!(
                "a singleton of a collection with {n} elements; combine them to one first, or use `view_as_list`"
            )),
        }
    }
    fn elements(value: &T) -> Vec<T> {
        vec![value.clone()]
    }
}

#[derive(Clone, Debug)]
pub(crate) struct AsList;

impl<T: Element> ViewShape<T> for AsList {
    type Value = ListView<T>;
    fn build(&self, elements: Vec<T>) -> std::result::Result<ListView<T>, String> {
        Ok(ListView::new(elements))
    }
    fn elements(value: &ListView<T>) -> Vec<T> {
        value.to_vec()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct AsMap;

impl<K: Key, V: Element> ViewShape<(K, V)> for AsMap {
    type Value = MapView<K, V>;
    const SETTLES: bool = true;

    fn settle(elements: &mut Vec<Fired<(K, V)>>) {
        // One firing takes nothing back of itself.
        if elements.iter().all(|(firing, _)| *firing == elements[0].0) {
            return;
        }
        let mut latest: HashMap<&K, i64, ViewHasher> = HashMap::default();
        for (firing, (k, _)) in elements.iter() {
            latest.entry(k).and_modify(|known| *known = (*known).max(*firing)).or_insert(*firing);
        }
        if latest.len() < elements.len() {
            let stays: Vec<bool> =
                elements.iter().map(|(firing, (k, _))| latest.get(k) == Some(firing)).collect();
            let mut stays = stays.into_iter();
            elements.retain(|_| stays.next().unwrap_or(true));
        }
    }

    fn build(&self, elements: Vec<(K, V)>) -> std::result::Result<MapView<K, V>, String> {
        let mut map = HashMap::with_capacity_and_hasher(elements.len(), ViewHasher::default());
        for (k, v) in elements {
            if map.insert(k, v).is_some() {
                return Err("a map of a collection with the same key twice; combine the values of a key to one first, or \
                            use `view_as_multimap`"
                    .into());
            }
        }
        Ok(MapView::new(map))
    }
    fn elements(value: &MapView<K, V>) -> Vec<(K, V)> {
        value.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct AsMultimap;

impl<K: Key + Hash, V: Element> ViewShape<(K, V)> for AsMultimap {
    type Value = MultimapView<K, V>;
    fn build(&self, elements: Vec<(K, V)>) -> std::result::Result<MultimapView<K, V>, String> {
        let mut map: HashMap<K, Vec<V>, ViewHasher> = HashMap::default();
        for (k, v) in elements {
            map.entry(k).or_default().push(v);
        }
        Ok(MultimapView::new(map))
    }
    fn elements(value: &MultimapView<K, V>) -> Vec<(K, V)> {
        value.iter().flat_map(|(k, values)| values.iter().map(|v| (k.clone(), v.clone()))).collect()
    }
}

/// Gathers the elements of a window for a view whose trigger fires more than once.
struct ViewFold<T, S>(std::marker::PhantomData<fn() -> (T, S)>);

impl<T, S> Clone for ViewFold<T, S> {
    fn clone(&self) -> ViewFold<T, S> {
        ViewFold(std::marker::PhantomData)
    }
}

impl<T: Element, S: ViewShape<T>> Fold for ViewFold<T, S> {
    type Input = Fired<T>;
    type Acc = Vec<Fired<T>>;
    type Output = Grouped<Fired<T>>;

    fn create(&self) -> Vec<Fired<T>> {
        Vec::new()
    }

    fn add(&self, acc: &mut Vec<Fired<T>>, input: Fired<T>) {
        acc.push(input);
    }

    fn merge(&self, acc: &mut Vec<Fired<T>>, mut other: Vec<Fired<T>>) {
        acc.append(&mut other);
    }

    fn extract(&self, mut acc: Vec<Fired<T>>) -> Grouped<Fired<T>> {
        S::settle(&mut acc);
        Grouped::from(acc)
    }

    fn fired(&self, acc: &mut Vec<Fired<T>>) {
        if S::SETTLES {
            S::settle(acc);
            acc.iter_mut().for_each(|(firing, _)| *firing = BEFORE);
        }
    }
}

/// Makes what a side input needs: it gathers like a grouping by the unit key, and is built when its window closes; or,
/// where a trigger fires more than once, whenever it fires.
pub trait ViewFactory: Send + Sync {
    /// Gathers elements at the end of a producing stage; `group` is its number among those that the stage feeds.
    fn collector(&self, spec: &KernelSpec, group: usize) -> Box<dyn Kernel>;
    /// What it gathers into.
    fn shard(&self) -> Box<dyn Shard>;
    /// Builds the value of a window that closed.
    fn builder(&self, spec: &KernelSpec) -> Box<dyn Kernel>;
    /// The grouping whose panes make the value, when a window can have several.
    fn panes(&self) -> Option<Arc<dyn GroupFactory>>;
    /// Makes a value of each of those panes.
    fn pane_builder(&self, spec: &KernelSpec) -> Box<dyn Kernel>;
    /// An empty batch of what that grouping emits.
    fn pane_input(&self) -> AnyBatch;
    /// The value of a window without elements.
    fn empty(&self) -> ViewValue;
    /// The value of a window with these elements, as an engine has gathered them.
    ///
    /// # Errors
    /// When a batch is not of the collection's type. What is wrong with the value is an error where it is read.
    fn value_of(&self, elements: Vec<AnyBatch>) -> Result<ViewValue>;
    /// An empty batch of the collection's type.
    fn input(&self) -> AnyBatch;
    /// Whether all that it gathers can be kept in a checkpoint.
    ///
    /// # Errors
    /// What cannot, why, and what to do.
    fn check_savable(&self) -> Result;
    /// What [`Shard::save`] wrote.
    ///
    /// # Errors
    /// When the bytes are no shard of this side input.
    fn load_shard(&self, input: &mut &[u8]) -> Result<Box<dyn Shard>>;
    /// What [`AnyTable::save`] wrote.
    ///
    /// # Errors
    /// When the bytes are no table of this side input.
    fn load_table(&self, input: &mut &[u8]) -> Result<Box<dyn AnyTable>>;
    /// Appends a value of this side input.
    ///
    /// # Errors
    /// When an element does not encode.
    fn save_value(&self, value: &ViewValue, out: &mut Vec<u8>) -> Result;
    /// What [`save_value`](ViewFactory::save_value) wrote.
    ///
    /// # Errors
    /// When the bytes are no value of this side input.
    fn load_value(&self, input: &mut &[u8]) -> Result<ViewValue>;
}

pub(crate) struct ViewOp<T, S> {
    shape: S,
    strategy: WindowingStrategy,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T: Element, S: ViewShape<T>> ViewOp<T, S> {
    pub(crate) fn new(shape: S, mut strategy: WindowingStrategy) -> ViewOp<T, S> {
        strategy.accumulation =
            if S::REPLACES { AccumulationMode::Discarding } else { AccumulationMode::Accumulating };
        ViewOp { shape, strategy, element: std::marker::PhantomData }
    }

    fn grouping(&self) -> GroupOp<(), ViewFold<T, S>> {
        let fold = ViewFold(std::marker::PhantomData);
        GroupOp::new(fold, self.strategy.clone(), None, CoderSlot::default_of_type(), None)
    }
}

impl<T: Element, S: ViewShape<T>> ViewFactory for ViewOp<T, S> {
    fn collector(&self, spec: &KernelSpec, group: usize) -> Box<dyn Kernel> {
        if self.strategy.is_plain() {
            let inner = Collector::<(), ListFold<T>>::new(spec.step.clone(), group, crate::Duration::ZERO);
            let keyed = |value, _: Row<'_>| ((), value);
            Box::new(ViewCollector::<T, T> { keyed, batch: Batch::default(), inner: Box::new(inner) })
        } else {
            let inner = self.grouping().collector(spec, group);
            let keyed = |value, row: Row<'_>| ((), (row.pane().index, value));
            Box::new(ViewCollector::<T, Fired<T>> { keyed, batch: Batch::default(), inner })
        }
    }

    fn shard(&self) -> Box<dyn Shard> {
        Box::new(WindowTables::<(), ListFold<T>>::new(ListFold::default(), TimestampCombiner::EndOfWindow))
    }

    fn builder(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(Builder::<T, S> {
            step: spec.step.clone(),
            shape: self.shape.clone(),
            element: std::marker::PhantomData,
        })
    }

    fn panes(&self) -> Option<Arc<dyn GroupFactory>> {
        (!self.strategy.is_plain()).then(|| Arc::new(self.grouping()) as Arc<dyn GroupFactory>)
    }

    fn pane_builder(&self, _spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(PaneBuilder::<T, S> { shape: self.shape.clone(), element: std::marker::PhantomData })
    }

    fn pane_input(&self) -> AnyBatch {
        Box::new(Batch::<((), Grouped<Fired<T>>)>::default())
    }

    fn empty(&self) -> ViewValue {
        Arc::new(self.shape.build(Vec::new()))
    }

    fn value_of(&self, elements: Vec<AnyBatch>) -> Result<ViewValue> {
        let mut all = Vec::new();
        for mut batch in elements {
            match batch.as_any().downcast_mut::<Batch<T>>() {
                Some(batch) => all.append(&mut batch.values),
                None => return Err(DoFnError::msg("elements of a side input have another type")),
            }
        }
        Ok(Arc::new(self.shape.build(all)))
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }

    fn check_savable(&self) -> Result {
        save::check::<T>("elements")
    }

    fn load_shard(&self, input: &mut &[u8]) -> Result<Box<dyn Shard>> {
        let combiner = TimestampCombiner::EndOfWindow;
        Ok(Box::new(WindowTables::<(), ListFold<T>>::new(ListFold::default(), combiner).load(input)?))
    }

    fn load_table(&self, input: &mut &[u8]) -> Result<Box<dyn AnyTable>> {
        Ok(Box::new(WindowTable::<(), ListFold<T>>::load(TimestampCombiner::EndOfWindow, input)?))
    }

    fn save_value(&self, value: &ViewValue, out: &mut Vec<u8>) -> Result {
        match value.downcast_ref::<std::result::Result<S::Value, String>>() {
            Some(Ok(value)) => save::put(&Ok::<Vec<T>, String>(S::elements(value)), out),
            Some(Err(what)) => save::put(&Err::<Vec<T>, String>(what.clone()), out),
            None => Err(DoFnError::msg("its value has another type")),
        }
    }

    fn load_value(&self, input: &mut &[u8]) -> Result<ViewValue> {
        let value = save::take::<std::result::Result<Vec<T>, String>>(input)?;
        Ok(Arc::new(value.and_then(|elements| self.shape.build(elements))))
    }
}

/// Gathers elements under the unit key, each as what `keyed` makes of it.
struct ViewCollector<T: Element, E: Element> {
    keyed: fn(T, Row<'_>) -> ((), E),
    batch: Batch<((), E)>,
    inner: Box<dyn Kernel>,
}

impl<T: Element, E: Element> Kernel for ViewCollector<T, E> {
    fn start(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        self.inner.start(down)
    }

    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        if let Some(Batch { values, meta }) = input.as_any().downcast_mut::<Batch<T>>() {
            let values = values.drain(..).enumerate();
            self.batch.values.extend(values.map(|(i, v)| (self.keyed)(v, Row::of(meta, i))));
            std::mem::swap(&mut self.batch.meta, meta);
            meta.clear();
        }
        self.inner.run(&mut self.batch, down)
    }

    fn seal(&mut self, cx: &super::BundleCx) -> KernelResult {
        self.inner.seal(cx)
    }
}

struct Builder<T, S> {
    step: Step,
    shape: S,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T: Element, S: ViewShape<T>> Kernel for Builder<T, S> {
    fn run(&mut self, _input: &mut dyn ErasedBatch, _down: &mut Downstream<'_>) -> KernelResult {
        Ok(())
    }

    fn run_root(&mut self, input: BundleInput, down: &mut Downstream<'_>) -> KernelResult {
        let BundleInput::Window { window, tables } = input else { return Ok(()) };
        down.cx().phase(Phase::SideInput);
        let mut elements = Vec::new();
        for table in tables {
            elements.extend(self.elements(table)?);
        }
        down.cx().effects().views.push((window, Arc::new(self.shape.build(elements))));
        Ok(())
    }
}

/// Makes a value of each pane.
struct PaneBuilder<T, S> {
    shape: S,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T: Element, S: ViewShape<T>> Kernel for PaneBuilder<T, S> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<((), Grouped<Fired<T>>)>>() else {
            return Ok(());
        };
        let cx = down.cx();
        cx.phase(Phase::SideInput);
        let Batch { values, meta } = batch;
        for (i, ((), elements)) in values.drain(..).enumerate() {
            let row = Row::of(meta, i);
            let elements: Vec<T> = elements.into_iter().map(|(_, element)| element).collect();
            // A pane with nothing in it does not take back what an earlier one said.
            if S::REPLACES && elements.is_empty() && !row.pane().is_first {
                continue;
            }
            let value: ViewValue = Arc::new(self.shape.build(elements));
            let windows = row.windows();
            cx.effects().views.extend(windows.as_slice().iter().map(|w| (w.clone(), value.clone())));
        }
        meta.clear();
        Ok(())
    }
}

impl<T: Element, S> Builder<T, S> {
    fn elements(&self, table: Box<dyn AnyTable>) -> std::result::Result<Vec<T>, PipelineError> {
        let mut table = table.into_any().downcast::<WindowTable<(), ListFold<T>>>().map_err(|_| {
            PipelineError::contract(
                self.step.clone(),
                Phase::SideInput,
                "the gathered elements have another type",
            )
        })?;
        Ok(table.take_group(&()).unwrap_or_default())
    }
}
