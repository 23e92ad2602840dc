import { type LabelKind, labelKinds, labelsIn } from '../../domain/labels.ts'
import type { CostSums, Counts, Place } from './sums.ts'

/**
 * The label of the sum of all charges with any label of its kind. The total minus this sum is the sum of charges
 * without a label.
 */
export const anyLabel = '*'

export type Labelled = {
  readonly kind: LabelKind
  readonly label: string
  readonly place: Place
  readonly counts: Counts
}

/** Yields sums for each of their labels, and for any label. */
export function* eachLabelled(sums: CostSums): Generator<Labelled> {
  for (const { place, counts } of sums.all())
    if (place.attribution !== '')
      for (const kind of labelKinds) {
        const labels = labelsIn(place.attribution, kind)
        if (labels.length > 0) for (const label of [anyLabel, ...labels]) yield { kind, label, place, counts }
      }
}
