import { type Value, valueText } from './changes.ts'

/** A value as lines of `member: value`, one for each text, number or list of these. A plain value is one line. */
export function linesOf(value: Value | undefined, path = ''): readonly string[] {
  if (value === undefined) return []
  if (value === null || typeof value !== 'object')
    return [path === '' ? valueText(value) : `${path}: ${valueText(value)}`]
  const list = Array.isArray(value) ? (value as readonly Value[]) : undefined
  if (list?.every(one => one === null || typeof one !== 'object')) {
    const text = `[${list.map(valueText).join(', ')}]`
    return [path === '' ? text : `${path}: ${text}`]
  }
  return Object.entries(value).flatMap(([name, inner]) => {
    const step = list ? `[${name}]` : name
    return linesOf(inner, path === '' || list ? `${path}${step}` : `${path}.${step}`)
  })
}

export type Line = { readonly kind: 'gone' | 'new'; readonly text: string }

/** The lines that differ, in the order of the old value, followed by those of the new one. */
export function changedLines(was: Value | undefined, value: Value | undefined): readonly Line[] {
  const [before, after] = [linesOf(was), linesOf(value)]
  const names = [...new Set([...before, ...after].map(nameOf))]
  const inOrder = (lines: readonly string[], others: readonly string[], kind: Line['kind']) =>
    new Map(lines.filter(line => !others.includes(line)).map(text => [nameOf(text), { kind, text }] as const))
  const gone = inOrder(before, after, 'gone')
  const made = inOrder(after, before, 'new')
  return names.flatMap(name => [gone.get(name), made.get(name)].filter(line => line !== undefined))
}

function nameOf(line: string): string {
  return line.slice(0, Math.max(line.indexOf(': '), 0))
}
