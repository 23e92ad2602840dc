import { costParts } from '../../domain/costs.ts'
import { labelKinds } from '../../domain/labels.ts'
import type { RebuildState } from '../../domain/stores.ts'
import { ask, type QueryProgram } from '../query.ts'
import { whole } from '../rows.ts'
import { rollUpTo, lockSums } from './roll-up.ts'
import { numbersOf, type PassNumber } from './spans.ts'

/** The maximum number of rows, or of places, that one commit deletes. */
const rowsTogether = 4_096
const placesTogether = 16

/** `cost_rebuild` in `meta`: the state of the pass that queries do not read. */
const steps = { none: 0, clear: 1, add: 2, clearOld: 3 } as const

const ofParts = `DELETE FROM cost_part_sum WHERE (part, span, what, currency) IN
  (SELECT part, span, what, currency FROM cost_part_sum WHERE part = ? AND span >= ? AND span < ? LIMIT ?) RETURNING part`

const ofLabels = `DELETE FROM cost_label_part WHERE (kind, span, label, currency) IN
  (SELECT kind, span, label, currency FROM cost_label_part WHERE kind = ? AND span >= ? AND span < ? LIMIT ?) RETURNING kind`
const ofLabelModels = `DELETE FROM cost_label_model WHERE (kind, model, span, label, currency) IN
  (SELECT kind, model, span, label, currency FROM cost_label_model WHERE span >= ? AND span < ? LIMIT ?) RETURNING kind`
const ofLabelPlaces = `DELETE FROM cost_label_sum WHERE span >= ? AND span < ? AND place IN
  (SELECT p.id FROM cost_label_place p
    WHERE EXISTS (SELECT 1 FROM cost_label_sum s WHERE s.place = p.id AND s.span >= ? AND s.span < ?) LIMIT 64) RETURNING place`

/**
 * Runs the next step of a rebuild: adds up everything again in a new pass, which replaces the current one when it has
 * caught up. Until then queries read the current pass, and a gateway continues to add to it. An interrupted rebuild
 * continues. `from`: the state that the previous step returned, or null.
 */
export function* rebuildCosts(from: RebuildState | null): QueryProgram<RebuildState> {
  const pass = yield* lockSums()
  const spare = pass === 0 ? 1 : 0
  const [row] = yield ask(`SELECT value FROM meta WHERE name = 'cost_rebuild'`)
  const step = whole(row ?? {}, 'value')
  const [added, all] = yield* measure(spare)
  const state = { isDone: false, added, all, cleared: step === steps.add ? 0 : (from?.cleared ?? 0) }
  // A caller that starts a rebuild wants new sums, even if the last rebuild has finished and only old sums are still
  // being removed.
  if (step === steps.none || (step === steps.clearOld && from === null)) yield* enter(steps.clear)
  else if (step === steps.add) {
    if ((yield* rollUpTo(spare)) > 0) return state
    yield ask(`UPDATE meta SET value = ? WHERE name = 'costed'`, spare)
    // Sums stored with pages of the log are computed again later.
    yield ask('DELETE FROM log_page_charge')
    yield* enter(steps.clearOld)
  } else {
    const cleared = yield* clearSome(spare, state.cleared)
    if (cleared !== undefined) return { ...state, cleared }
    yield ask('DELETE FROM cost_progress WHERE pass = ?', spare)
    yield* startFold(spare, pass)
    yield* enter(step === steps.clear ? steps.add : steps.none)
    if (step === steps.clearOld) return { ...state, isDone: true, added: all }
  }
  return { ...state, cleared: 0 }
}

/**
 * Runs the next step of a rebuild that a migration requested, or that was interrupted. `from`: the state that the
 * previous step returned, or null.
 * @returns a finished state if there is no rebuild
 */
export function* finishRebuild(from: RebuildState | null): QueryProgram<RebuildState> {
  const before = from ?? { isDone: false, added: 0, all: 0, cleared: 0 }
  return (yield* isRebuilding()) ? yield* rebuildCosts(before) : { ...before, isDone: true }
}

/** Whether a rebuild runs. Until it ends, the current sums may be of a version that stored fewer counts. */
export function* isRebuilding(): QueryProgram<boolean> {
  const [row] = yield ask(`SELECT value FROM meta WHERE name = 'cost_rebuild'`)
  return whole(row ?? {}, 'value') !== steps.none
}

/** A new pass has the same longer spans as the current one. */
function* startFold(pass: PassNumber, current: PassNumber): QueryProgram<void> {
  const folded = '(SELECT c.folded FROM cost_fold c WHERE c.pass = ?)'
  yield ask(
    `UPDATE cost_fold SET folded = ${folded}, target = ${folded}, step = 0, name = '', place = '' WHERE pass = ?`,
    current,
    current,
    pass,
  )
}

function* enter(step: number): QueryProgram<void> {
  yield ask(`UPDATE meta SET value = ? WHERE name = 'cost_rebuild'`, step)
}

/** The number of chain positions that a pass has added up, and their total. */
function* measure(pass: PassNumber): QueryProgram<readonly [added: number, all: number]> {
  const [row] = yield ask(
    `SELECT coalesce((SELECT sum(position) FROM cost_progress WHERE pass = ?), 0) AS added,
       coalesce((SELECT sum(position) FROM chain), 0) AS whole`,
    pass,
  )
  return [whole(row ?? {}, 'added'), whole(row ?? {}, 'whole')]
}

/** Removes some sums of a pass, after one place. @returns the last place; undefined if nothing is left */
function* clearSome(pass: PassNumber, after: number): QueryProgram<number | undefined> {
  const [from, to] = numbersOf(pass)
  for (const kind of labelKinds) if ((yield ask(ofLabels, kind, from, to, rowsTogether)).length > 0) return after
  if ((yield ask(ofLabelModels, from, to, rowsTogether)).length > 0) return after
  if ((yield ask(ofLabelPlaces, from, to, from, to)).length > 0) return after
  for (const part of ['', ...costParts]) {
    const gone = yield ask(ofParts, part, from, to, rowsTogether)
    if (gone.length > 0) return after
  }
  const places = yield ask(
    `SELECT p.id FROM cost_place p WHERE p.id > ?
       AND (EXISTS (SELECT 1 FROM cost_place_sum s WHERE s.place = p.id AND s.span >= ? AND s.span < ?)
         OR EXISTS (SELECT 1 FROM cost_key_sum s WHERE s.place = p.id AND s.span >= ? AND s.span < ?)) ORDER BY p.id LIMIT ?`,
    after,
    from,
    to,
    from,
    to,
    placesTogether,
  )
  const last = places.at(-1)
  if (!last) return undefined
  for (const place of places)
    for (const table of ['cost_place_sum', 'cost_image_sum', 'cost_key_sum'])
      yield ask(`DELETE FROM ${table} WHERE place = ? AND span >= ? AND span < ?`, whole(place, 'id'), from, to)
  return whole(last, 'id')
}
