import { isRandom, isSecretName } from '../domain/index.ts'
import type { Span } from './tree.ts'

/** An address without its scheme: the text after `://`, up to a character that no address has. */
const addresses = /(?<=:\/\/)[^\s"'<>`]+/g
/** A query parameter: its name, and its value up to the next one. References and placeholders do not count. */
const parameters = /(?<=[?&;])([^\s=&?#"'<>]{1,64})=([^\s&#"'<>]+)/g
/**
 * A user without a password, as in the URL of a proxy or a tracker, is a token. Database URLs do not use these schemes.
 */
const tokens = /(?<=\b(?:https?|socks5h?):\/\/)[^\s"'<>`/@:]+(?=@)/gi
const reference = /^(?:\$\{(?:file:[^}]*|\w+)\}|\{\w*\}?)$/

/**
 * The places of secrets in the addresses of a text: values of query parameters with the name of a secret, parts of a
 * query or path that look random, as in webhooks, and a token before an `@`. In the order of the text. `secrets.ts`
 * finds passwords before an `@`.
 */
export function findAddressSecrets(text: string): readonly Span[] {
  const spans: Span[] = []
  for (const { 1: name = '', 2: value = '', index } of text.matchAll(parameters))
    if ((isSecretName(name) || isRandom(value)) && !reference.test(value)) {
      const start = index + name.length + 1
      spans.push({ start, end: start + value.length })
    }
  for (const { 0: token, index } of text.matchAll(tokens)) spans.push({ start: index, end: index + token.length })
  for (const { 0: address, index } of text.matchAll(addresses)) spans.push(...secretSegments(address, index))
  return spans.toSorted((a, b) => a.start - b.start)
}

function secretSegments(address: string, from: number): readonly Span[] {
  const spans: Span[] = []
  const [path = ''] = address.split(/[?#]/, 1)
  let start = from
  for (const [i, segment] of path.split('/').entries()) {
    // The first part is the host.
    if (i > 0 && isRandom(segment)) spans.push({ start, end: start + segment.length })
    start += segment.length + 1
  }
  return spans
}
