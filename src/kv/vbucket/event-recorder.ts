// Records the system events of vbuckets: when the manifest changes, and, when a vbucket becomes active, those that its history lacks. In
// buckets with a disk they leave memory as soon as they are persisted; streams then read them from disk. A thousand collections are a
// million events: they are recorded in slices, and those of a vbucket at the latest before a client uses it.
import type { Clock } from '#ports/clock.ts';
import type { CutItem } from '../data/cut.ts';
import { decodeEvent, encodeEvent, eventKey, isDrop, type SystemEvent } from '../data/system-events.ts';
import { Bit } from '../memory/layout.ts';
import { emptyPosition } from './item-position.ts';
import { emptyDraft } from './items.ts';
import { eventsBetween, initialManifestState, type ManifestState, stateAfter } from './manifest-state.ts';
import { makesSeqnos } from './serving.ts';
import { StoredManifests } from './stored-manifests.ts';
import { UnwrittenEvents } from './unwritten-events.ts';
import type { Vbuckets } from './vbuckets.ts';

/** Events in one turn, at least: about a millisecond. */
const eventsPerTurn = 512;
const eventsPerStep = 256;
/** Collections whose states are compared in the time of one event. */
const comparedPerEvent = 16;
/** Cost of an event, in bytes of work. */
const eventWork = 256;
/** Limit of manifest states that vbuckets have not reached yet. */
const targetsMax = 16;
/** Interval of attempts while there is no memory for events. */
const retryPauseMs = 100;

export interface EventRecorderOptions {
  vbuckets: Vbuckets;
  clock: Pick<Clock, 'after' | 'soon'>;
  /** Whether events are written to a disk. */
  isPersistent: boolean;
  onDirty: (vb: number) => void;
  /** Called for a copy that got the drop of a collection or scope from its active: no document of it comes after that. */
  onDropApplied?: (vb: number) => void;
  /** Counts work of the turn. */
  countWork?: ((workBytes: number) => void) | undefined;
}

export class EventRecorder {
  /** The uid of the bucket's manifest. */
  manifestUid = 0;
  private readonly options: EventRecorderOptions;
  /** By vbucket: the manifest's state that was recorded last; null before the first. */
  private readonly recorded: (ManifestState | null)[];
  private stored: StoredManifests | null = null;
  /** The states of the manifest that the vbuckets in `waiting` have yet to record, in order; empty while none waits. */
  private targets: Target[] = [];
  /** The target that a vbucket reaches next, by vbucket. */
  private readonly waiting = new Map<number, number>();
  private afterwards: (() => void)[] = [];
  /** Functions that end the waits of `whenRecordedOrAfter`. */
  private readonly waits = new Set<() => void>();
  private isScheduled = false;
  private readonly unwritten: UnwrittenEvents;
  private readonly position = emptyPosition();
  private readonly draft = emptyDraft();
  private readonly result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };

  constructor(options: EventRecorderOptions) {
    this.options = options;
    this.unwritten = new UnwrittenEvents(options.vbuckets, options.clock);
    this.recorded = new Array<ManifestState | null>(options.vbuckets.columns.count).fill(null);
  }

  /** Adds an event that a file holds, read at warm-up. */
  noteStored(vb: number, item: CutItem): void {
    this.stored ??= new StoredManifests(this.options.vbuckets.columns.count);
    this.stored.note(vb, decodeEvent(item.buffer, item.valueStart, item.valueEnd));
  }

  /** Adds an event that a copy got from its active and that is in memory now. */
  noteApplied(vb: number, hash: number, item: CutItem): void {
    const { onDropApplied, isPersistent, vbuckets } = this.options;
    const before = this.recorded[vb] ?? null;
    this.stored ??= new StoredManifests(vbuckets.columns.count);
    if (before !== null) this.stored.put(vb, before);
    this.recorded[vb] = null;
    const event = decodeEvent(item.buffer, item.valueStart, item.valueEnd);
    this.stored.note(vb, event);
    if (isPersistent) this.unwritten.add(vb, hash, item.seqno);
    if (isDrop(event.kind)) onDropApplied?.(vb);
  }

  /** Records the events that lead the history of these vbuckets to the manifest's state: a few at once, many in later turns. */
  record(vbs: readonly number[], state: ManifestState): void {
    // After many changes in a short time, vbuckets that lag behind record the last changes as one change.
    if (this.targets.length === targetsMax) this.targets.pop();
    const target = this.targets.push({ state, steps: new Map() }) - 1;
    for (const vb of vbs) if (!this.waiting.has(vb)) this.waiting.set(vb, target);
    if (!this.isScheduled) this.work();
  }

  /** Whether some vbuckets lack events: `catchUp` must then be called before a client uses such a vbucket. */
  get isBehind(): boolean {
    return this.waiting.size > 0;
  }

  /** Calls `callback` once all events are recorded: the documents of a dropped collection are removed after the event of its drop. */
  whenRecorded(callback: () => void): void {
    if (this.isBehind) this.afterwards.push(callback);
    else callback();
  }

  /**
   * Calls `callback` once all events are recorded, and at the latest after `limitMs` or when the bucket stops: memory may have no room for
   * events for a long time.
   */
  whenRecordedOrAfter(limitMs: number, callback: () => void): void {
    if (!this.isBehind) {
      callback();
      return;
    }
    const end = (): void => {
      timer.cancel();
      this.waits.delete(end);
      callback();
    };
    const timer = this.options.clock.after(limitMs, end);
    this.waits.add(end);
  }

  /** Records what this vbucket lacks; false when there is no memory for it. */
  catchUp(vb: number): boolean {
    while (this.waiting.has(vb)) if (this.recordIn(vb) === null) return false;
    return true;
  }

  /** Whether the vbucket's history has this collection, which the bucket's manifest is too old for. */
  isNewer(vb: number, collection: number): boolean {
    return this.newerScopeOf(vb, collection, this.manifestUid) !== undefined;
  }

  newerScopeOf(vb: number, collection: number, uid: number): number | undefined {
    const recorded = this.recorded[vb] ?? null;
    if (recorded === null) return this.stored?.newerScopeOf(vb, collection, uid);
    return recorded.uid > uid ? recorded.collections.get(collection)?.scopeId : undefined;
  }

  /** Called when the vbucket's changes up to `seqno` are persisted. */
  persisted(vb: number, seqno: number): void {
    this.unwritten.persisted(vb, seqno);
  }

  /** Discards the events that are not recorded yet: the next start records them. */
  stop(): void {
    this.waiting.clear();
    this.targets = [];
    this.afterwards = [];
    for (const end of this.waits) end();
  }

  /** Called when the vbuckets were emptied. */
  clear(): void {
    this.stop();
    this.recorded.fill(null);
    this.stored = null;
    this.unwritten.clear();
  }

  /** Called when one vbucket was emptied. */
  discard(vb: number): void {
    this.recorded[vb] = null;
    this.stored?.put(vb, initialManifestState);
    this.unwritten.discard(vb);
  }

  private work(): void {
    const { clock } = this.options;
    this.isScheduled = true;
    let left = eventsPerTurn;
    for (const vb of this.waiting.keys()) {
      while (this.waiting.has(vb) && left > 0) {
        const cost = this.recordIn(vb);
        if (cost === null) {
          clock.after(retryPauseMs, () => this.work());
          return;
        }
        left -= cost;
      }
      if (left <= 0) break;
    }
    if (this.waiting.size > 0) clock.soon(() => this.work());
    else this.isScheduled = false;
  }

  /** Takes the next step of this vbucket. Returns what it cost, in events; null when there is no memory. */
  private recordIn(vb: number): number | null {
    // The history of a copy comes from its active.
    if (!makesSeqnos(this.options.vbuckets.columns, vb)) {
      this.endWaiting(vb);
      return 0;
    }
    const { recorded, stored, targets, waiting } = this;
    const index = waiting.get(vb) as number;
    const { state, steps } = targets[index] as Target;
    const before = recorded[vb] ?? stored?.stateOf(vb) ?? initialManifestState;
    // A vbucket can become active here before the manifest of its history arrives: collections that this manifest lacks yet are not dropped.
    if (before.uid > state.uid) return this.reached(vb, index);
    const existing = steps.get(before);
    const step = existing ?? stepBetween(before, state);
    steps.set(before, step);
    const refused = step.events.findIndex((event) => !this.write(vb, event));
    recorded[vb] = refused < 0 ? step.after : stateAfter(before, step.described.slice(0, refused));
    if (refused >= 0) return null;
    if (step.after === state) this.reached(vb, index);
    const { size } = state.collections;
    const cost = step.events.length + 1 + (existing === undefined ? size : size / comparedPerEvent);
    this.options.countWork?.(cost * eventWork);
    return cost;
  }

  /** Goes on to the target after this one, if there is any. Returns the cost. */
  private reached(vb: number, target: number): number {
    if (target + 1 < this.targets.length) this.waiting.set(vb, target + 1);
    else this.endWaiting(vb);
    return 1;
  }

  private endWaiting(vb: number): void {
    this.waiting.delete(vb);
    if (this.waiting.size > 0) return;
    this.targets = [];
    if (!this.recorded.includes(null)) this.stored = null;
    for (const callback of this.afterwards.splice(0)) callback();
    for (const end of this.waits) end();
  }

  private write(vb: number, event: EncodedEvent): boolean {
    const { vbuckets, isPersistent, onDirty } = this.options;
    const { draft, position, result } = this;
    const hash = vbuckets.hash(event.key, 0, event.key.length);
    vbuckets.locate(position, vb, hash, event.key, 0, event.key.length);
    draft.key = event.key;
    draft.keyEnd = event.key.length;
    draft.value = event.value;
    draft.valueEnd = event.value.length;
    draft.bits = event.isDrop ? Bit.deleted : 0;
    draft.expiry = event.isDrop ? vbuckets.now.seconds : 0;
    if (!vbuckets.write(position, draft, result)) return false;
    if (!isPersistent) return true;
    this.unwritten.add(vb, hash, result.seqno);
    onDirty(vb);
    return true;
  }
}

interface EncodedEvent {
  key: Buffer;
  value: Buffer;
  isDrop: boolean;
}

/** A state of the manifest, and the next step to it from others. Most vbuckets have the same states: their events are encoded once. */
interface Target {
  state: ManifestState;
  steps: Map<ManifestState, Step>;
}

/** Events that lead from one state to the next. */
interface Step {
  described: readonly SystemEvent[];
  events: readonly EncodedEvent[];
  after: ManifestState;
}

function stepBetween(before: ManifestState, target: ManifestState): Step {
  const all = eventsBetween(before, target);
  const described = all.slice(0, eventsPerStep);
  const after = described.length === all.length ? target : stateAfter(before, described);
  return { described, events: described.map(encoded), after };
}

const encoded = (event: SystemEvent): EncodedEvent => ({
  key: eventKey(event),
  value: encodeEvent(event),
  isDrop: isDrop(event.kind),
});
