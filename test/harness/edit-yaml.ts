import { isMap, isNode, parseDocument } from 'yaml'

/**
 * Changes to a YAML text, in order: values by their paths, such as `groups/default/rpm`, whose last name may be new;
 * or a text to find, at least once, and its replacement.
 */
export type Edits = readonly (ByPath | TextEdit)[]
export type TextEdit = readonly [find: string | RegExp, put: string]
type ByPath = { readonly [path: string]: unknown; readonly length?: never }

/** @throws Error if there is nothing to change */
export function editYaml(text: string, edits: Edits): string {
  let edited = text
  const keep = (next: string, what: unknown): void => {
    if (next === edited) throw new Error(`the configuration has no ${String(what)}, or has it already`)
    edited = next
  }
  for (const edit of edits)
    if (isByPath(edit)) for (const [path, value] of Object.entries(edit)) keep(setAt(edited, path, value), path)
    else keep(edited.replace(...edit), edit[0])
  return edited
}

function isByPath(edit: Edits[number]): edit is ByPath {
  return !Array.isArray(edit)
}

/** Keeps all other text, including comments and line numbers. */
function setAt(text: string, path: string, value: unknown): string {
  const names = path.split('/')
  const document = parseDocument(text)
  const put = JSON.stringify(value)
  const node = document.getIn(names, true)
  if (isNode(node) && node.range) {
    const [start, end] = node.range
    return text.slice(0, start) + put + text.slice(text.slice(0, end).trimEnd().length)
  }
  const holder = document.getIn(names.slice(0, -1), true)
  if (!isMap(holder) || !holder.range) throw new Error(`the configuration has no mapping around ${path}`)
  const [start] = holder.range
  const member = `${JSON.stringify(names.at(-1))}: ${put}`
  if (holder.flow) return `${text.slice(0, start + 1)} ${member},${text.slice(start + 1)}`
  const indent = ' '.repeat(start - text.lastIndexOf('\n', start - 1) - 1)
  return `${text.slice(0, start)}${member}\n${indent}${text.slice(start)}`
}
