import {
  type AnswerPlace,
  compileConditions,
  compilePlace,
  type Condition,
  normalPath,
  type Path,
  toPaths,
} from '../../src/wire/index.ts'
import type { BillingFacet, DescribedAnswer } from './schema.ts'

/** The description of an operation's answers, computed once. */
export type Description = {
  readonly places: readonly AnswerPlace[]
  readonly refused: readonly (readonly Condition[])[]
  /** Names of members whose bytes are not a picture. */
  readonly opaque: ReadonlySet<string>
  /** Members on the path from an item to its pictures. */
  readonly leading: ReadonlySet<Path>
  /** Whether events are read like answers. */
  readonly streams: boolean
  /** Paths whose values decide something. */
  readonly wanted: ReadonlySet<Path>
}

const known = new WeakMap<DescribedAnswer, Description>()

/** The family's description of an operation's answers; undefined if it names one of the known shapes. */
export function descriptionOf(operation: string, facet: BillingFacet): Description | undefined {
  const answer = facet.answers?.[operation]
  if (typeof answer !== 'object') return undefined
  let description = known.get(answer)
  if (!description) known.set(answer, (description = describe(answer)))
  return description
}

export function describe(answer: DescribedAnswer): Description {
  const places = toPaths(answer.at ?? '.').map(at => compilePlace({ ...answer, at }))
  const refused = (answer.refused ?? []).map(one => compileConditions(one.if, normalPath))
  const conditions = [...places.flatMap(({ skip, keep }) => [...skip, ...keep]), ...refused.flat()]
  return {
    places,
    refused,
    opaque: new Set(answer.opaque),
    leading: new Set(places.flatMap(leadingOf)),
    streams: answer.stream !== undefined,
    wanted: new Set(conditions.map(({ path }) => path)),
  }
}

function leadingOf({ at, pictures }: AnswerPlace): readonly Path[] {
  return pictures.flatMap(picture => {
    const names = picture.split('.')
    const from = at === '' ? 1 : at.split('.').length + 1
    return names.map((_, i) => names.slice(0, i + 1).join('.')).slice(from - 1)
  })
}
