import type { Reference } from './interpolate.ts'
import { isSecretPlace } from './secrets.ts'
import { entryOf, findNode, type Path, type Tree } from './tree.ts'

const sections: ReadonlySet<unknown> = new Set(['upstreams', 'events', 'sign_in', 'observability'])
/** Of an upstream, what a request to it is made of. */
const requestParts: ReadonlySet<unknown> = new Set(['url', 'credential', 'headers', 'query'])

/** True where a value is for somebody outside alone: whoever works on the storage has no use for it. */
export function isForOthers(path: Path): boolean {
  if (path[0] === 'defaults') return isForOthers([path[1] ?? '', '', ...path.slice(2)])
  if (!sections.has(path[0])) return false
  return isSecretPlace(path) || (path[0] === 'upstreams' && requestParts.has(path[2]))
}

/** What is written for a reference: different for each, so that two keys are not taken for one. */
export function standInText(reference: Reference): string {
  const name = reference.kind === 'variable' ? reference.name : reference.text
  return `unset-${name.replaceAll(/[^A-Za-z0-9_]+/g, '-')}`
}

/** The text itself, or an address that leads nowhere where one is needed and the text is none. */
export function standInFor(text: string, path: Path, root: Tree): string {
  if (path.at(-1) !== 'url' || URL.canParse(text)) return text
  const { node } = findNode(root, path.slice(0, -1))
  const format = entryOf(node, 'format')?.value
  const isMail = format?.kind === 'scalar' && format.value === 'email'
  return `${isMail ? 'smtps' : 'https'}://unset.invalid`
}
