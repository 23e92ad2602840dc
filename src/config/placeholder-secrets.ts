import type { Reference } from './interpolate.ts'
import { isSecretPlace } from './secrets.ts'
import { entryOf, findNode, type Path, type Tree } from './tree.ts'

const sections: ReadonlySet<unknown> = new Set(['upstreams', 'families', 'events', 'sign_in', 'observability'])
/** The parts of an upstream that form a request to it. */
const requestParts: ReadonlySet<unknown> = new Set(['url', 'credential', 'headers', 'query'])

/** True if a value is only sent to other services: commands that use only the storage do not need it. */
export function isForOthers(path: Path): boolean {
  if (path[0] === 'defaults') return isForOthers([path[1] ?? '', '', ...path.slice(2)])
  if (!sections.has(path[0])) return false
  const [top, , part] = path
  if (part === 'calls' && path.some(step => step === 'headers' || step === 'query')) return true
  return isSecretPlace(path) || (top === 'upstreams' && requestParts.has(part))
}

/** The placeholder for a reference: different for each, so that two keys do not count as the same. */
export function placeholderText(reference: Reference): string {
  const name = reference.kind === 'variable' ? reference.name : reference.text
  return `unset-${name.replaceAll(/[^A-Za-z0-9_]/gu, one => `-${one.codePointAt(0)?.toString(16)}`)}`
}

/** The placeholder for a redacted secret: different for each `which`. */
export function coveredText(which: number | string): string {
  return `${covered}${which}`
}

const covered = 'unset-covered-'

export function wasCovered(text: string): boolean {
  return text.includes(covered)
}

/** The text itself; for a URL that the text is not, an address that leads nowhere. */
export function placeholderFor(text: string, path: Path, root: Tree): string {
  if (path.at(-1) !== 'url' || URL.canParse(text)) return text
  const { node } = findNode(root, path.slice(0, -1))
  const format = entryOf(node, 'format')?.value
  const isMail = format?.kind === 'scalar' && format.value === 'email'
  return `${isMail ? 'smtps' : 'https'}://unset.invalid`
}
