import { isRandom, isSecretName } from '../domain/index.ts'
import type { Span } from './tree.ts'

/** An address from behind its scheme; what stands in a text behind `://`, up to what no address has in it. */
const addresses = /(?<=:\/\/)[^\s"'<>`]+/g
/** A parameter of a query: its name, and its value up to the next one. References and places to fill in are none. */
const parameters = /(?<=[?&;])([^\s=&?#"'<>]{1,64})=([^\s&#"'<>]+)/g
const reference = /^(?:\$\{(?:file:[^}]*|\w+)\}|\{\w*\}?)$/

/**
 * Where secrets stand in the addresses of a text: values of their queries under a name of secrets, and whatever in query or
 * path nobody would have made up, as webhooks have it. In the order of the text. Passwords before an `@` are looked for elsewhere.
 */
export function findAddressSecrets(text: string): readonly Span[] {
  const spans: Span[] = []
  for (const { 1: name = '', 2: value = '', index } of text.matchAll(parameters))
    if ((isSecretName(name) || isRandom(value)) && !reference.test(value)) {
      const start = index + name.length + 1
      spans.push({ start, end: start + value.length })
    }
  for (const { 0: address, index } of text.matchAll(addresses)) spans.push(...secretSegments(address, index))
  return spans.toSorted((a, b) => a.start - b.start)
}

function secretSegments(address: string, from: number): readonly Span[] {
  const spans: Span[] = []
  const [path = ''] = address.split(/[?#]/, 1)
  let start = from
  for (const [i, segment] of path.split('/').entries()) {
    // The first is whose address it is.
    if (i > 0 && isRandom(segment)) spans.push({ start, end: start + segment.length })
    start += segment.length + 1
  }
  return spans
}
