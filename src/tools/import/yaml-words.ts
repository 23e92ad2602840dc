/** A text as a YAML scalar: quoted wherever it could be read as something else. */
export function writeScalar(text: string): string {
  const plain = /^[A-Za-z][\w./-]*$/.test(text) && !/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(text)
  return plain ? text : JSON.stringify(text)
}

/** A mapping on one line; values are YAML already. */
export function writeMap(entries: readonly (readonly [string, string | undefined])[]): string {
  const shown = entries.flatMap(([key, value]) => (value === undefined ? [] : [`${writeScalar(key)}: ${value}`]))
  return shown.length > 0 ? `{ ${shown.join(', ')} }` : '{}'
}
