/** A value of the file, as JSON. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value }
export type Path = readonly (string | number)[]

/** A change at one path of the file; without a value, the path is removed. */
export type Edit = { readonly path: Path; readonly value?: Value }

/** A collected change, and the old value: undefined if there was none. */
export type Staged = Edit & { readonly was: Value | undefined }

/** Whether a path is inside an entry. */
export function isBelow(path: Path, entry: Path): boolean {
  return entry.every((step, i) => path[i] === step)
}

/** In the API's format. */
export function editOf({ path, value }: Staged): Edit {
  return value === undefined ? { path } : { path, value }
}

/** A path in the format of findings: `models.NAME.prices.input`. */
export function pathText(path: Path): string {
  return path
    .map((step, i) => {
      if (typeof step === 'number') return `[${step}]`
      if (!/^[^\s.[\]"'{}]+$/.test(step)) return `[${JSON.stringify(step)}]`
      return i === 0 ? step : `.${step}`
    })
    .join('')
}

/** The value at a path; undefined if there is none. */
export function valueAt(value: Value | undefined, path: Path): Value | undefined {
  return path.reduce<Value | undefined>((inner, step) => {
    if (inner === null || typeof inner !== 'object') return undefined
    return Array.isArray(inner) ? inner[Number(step)] : (inner as { readonly [name: string]: Value })[step]
  }, value)
}

/** A value on one line. */
export function valueText(value: Value | undefined): string {
  if (value === undefined) return '–'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
