/** Names from the outside in, joined by dots; empty for the value itself. Lists on the way are traversed. */
export type Path = string

/** Normalises a path: `.` is the whole value. */
export function normalPath(path: string): Path {
  return path === '.' ? '' : path
}

export function joinPath(base: Path, path: string): Path {
  const own = normalPath(path)
  if (base === '' || own === '') return base === '' ? own : base
  return `${base}.${own}`
}

/** The values at a path of a value; those of every element if a list is on the way. */
export function valuesAt(value: unknown, path: Path): readonly unknown[] {
  const flat = Array.isArray(value) ? (value as readonly unknown[]) : [value]
  if (path === '') return flat.filter(one => one !== undefined && one !== null)
  const [name = '', ...rest] = path.split('.')
  return flat.flatMap(one => {
    if (typeof one !== 'object' || one === null || !Object.hasOwn(one, name)) return []
    return valuesAt((one as { readonly [name: string]: unknown })[name], rest.join('.'))
  })
}

/** `path`, or a list of them, as a list. */
export function toPaths(paths: unknown): readonly string[] {
  if (paths === undefined) return []
  return Array.isArray(paths) ? (paths as readonly string[]) : [paths as string]
}
