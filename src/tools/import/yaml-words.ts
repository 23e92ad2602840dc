/** A text as a YAML scalar, quoted if it could be read as something else. */
export function writeScalar(text: string): string {
  const plain = /^[A-Za-z][\w./-]*$/.test(text) && !/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(text)
  return plain ? text : JSON.stringify(text)
}

/** A foreign text as a scalar for exactly this text: a `${file:…}` in it is not a reference. */
export function writeForeign(text: string): string {
  return writeScalar(text.replaceAll('$', '$$$$'))
}

/** Whether a text can be a key: not a reference, and without a special meaning in YAML or JavaScript. */
export function isName(text: string): boolean {
  return text.trim() !== '' && text.length <= 200 && !/\$\{|\p{Cc}/u.test(text) && !['<<', '__proto__'].includes(text)
}

/** A text in a comment: on one line, without characters that have a meaning for a terminal or a YAML parser. */
export function writeComment(text: string): string {
  return text.replaceAll(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}

/** A mapping on one line; its values are YAML. */
export function writeMap(entries: readonly (readonly [string, string | undefined])[]): string {
  const shown = entries.flatMap(([key, value]) => (value === undefined ? [] : [`${writeScalar(key)}: ${value}`]))
  return shown.length > 0 ? `{ ${shown.join(', ')} }` : '{}'
}
