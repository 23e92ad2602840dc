import type { Path } from './paths.ts'

type Word = string | number | boolean

/** The condition at a path: one of the values; `any` value; or no value at all. */
export type Condition = { readonly path: Path; readonly is: 'any' | 'none' | ReadonlySet<string> }

export type ConditionSettings = { readonly [path: string]: unknown }

export function compileConditions(
  settings: ConditionSettings | undefined,
  toPath: (path: string) => Path,
): readonly Condition[] {
  return Object.entries(settings ?? {}).map(([path, wanted]) => {
    const is = wanted === 'any' || wanted === 'none' ? wanted : new Set([wanted as Word].flat().map(String))
    return { path: toPath(path), is }
  })
}

/** Whether all conditions hold. `valuesOf` returns the values at a path, as texts. */
export function conditionsHold(conditions: readonly Condition[], valuesOf: (path: Path) => readonly string[]): boolean {
  return conditions.every(({ path, is }) => {
    const values = valuesOf(path)
    if (is === 'none') return values.length === 0
    return is === 'any' ? values.length > 0 : values.some(value => is.has(value))
  })
}
