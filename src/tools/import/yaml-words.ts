/** A text as a YAML scalar: quoted wherever it could be read as something else. */
export function writeScalar(text: string): string {
  const plain = /^[A-Za-z][\w./-]*$/.test(text) && !/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(text)
  return plain ? text : JSON.stringify(text)
}

/** A foreign text as a scalar that means just this text: a `${file:…}` in it is not a reference. */
export function writeForeign(text: string): string {
  return writeScalar(text.replaceAll('$', '$$$$'))
}

/** A name that can come before a colon: a reference is none, nor is what YAML or JavaScript means something by. */
export function isName(text: string): boolean {
  return text.trim() !== '' && text.length <= 200 && !/\$\{|\p{Cc}/u.test(text) && !['<<', '__proto__'].includes(text)
}

/** A text in a comment: on one line, and nothing that a terminal or a reader of YAML takes for more. */
export function writeComment(text: string): string {
  return text.replaceAll(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}

/** A mapping on one line; values are YAML already. */
export function writeMap(entries: readonly (readonly [string, string | undefined])[]): string {
  const shown = entries.flatMap(([key, value]) => (value === undefined ? [] : [`${writeScalar(key)}: ${value}`]))
  return shown.length > 0 ? `{ ${shown.join(', ')} }` : '{}'
}
