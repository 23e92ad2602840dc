import { compileConditions, type ConditionSettings, conditionsHold } from '../conditions.ts'
import { joinPath, normalPath, type Path, toPaths } from '../paths.ts'
import type { AnswerPlace } from './reading.ts'

/** A place in the form of `gateway.yaml`; `picture` and `size` are one path in an item, or several. */
export type PlaceOptions = {
  readonly at?: string
  readonly picture?: unknown
  readonly bytes?: boolean
  readonly size?: unknown
  readonly skip_if?: ConditionSettings
  readonly keep_if?: ConditionSettings
  readonly error?: string
  readonly text?: { readonly [name: string]: string }
}

export function compilePlace(own: PlaceOptions): AnswerPlace {
  const at = normalPath(own.at ?? '.')
  const within = (path: string): Path => joinPath(at, path)
  return {
    at,
    pictures: toPaths(own.picture).map(within),
    bytes: own.bytes === true,
    size: toPaths(own.size).map(within),
    skip: compileConditions(own.skip_if, within),
    keep: compileConditions(own.keep_if, within),
    error: own.error === undefined ? undefined : within(own.error),
    texts: Object.entries(own.text ?? {}).map(([name, path]) => [name, within(path)]),
  }
}

/** Whether the picture of an item with these values counts. */
export function isKept({ skip, keep }: AnswerPlace, valuesOf: (path: Path) => readonly string[]): boolean {
  return conditionsHold(keep, valuesOf) && !(skip.length > 0 && conditionsHold(skip, valuesOf))
}
