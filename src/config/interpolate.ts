import type { Environment } from './environment.ts'

/** A `${…}` in a text. */
export type Reference =
  | {
      readonly kind: 'variable'
      readonly name: string
      readonly text: string
      readonly otherwise: string | undefined
      readonly refusal: string | undefined
    }
  | { readonly kind: 'file'; readonly file: string; readonly text: string }
  | { readonly kind: 'malformed'; readonly text: string }

const variable = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([-?])(.*))?\}$/s
const secretFile = /^\$\{file:(.+)\}$/s

/** The text as literal pieces (`$$` already replaced by `$`) and references, in order. */
export function parseReferences(text: string): readonly (string | Reference)[] {
  const pieces: (string | Reference)[] = []
  let literal = ''
  let at = 0
  while (at < text.length) {
    const dollar = text.indexOf('$', at)
    if (dollar === -1) break
    literal += text.slice(at, dollar)
    const next = text[dollar + 1]
    if (next === '$') {
      literal += '$'
      at = dollar + 2
    } else if (next === '{') {
      const close = text.indexOf('}', dollar)
      const end = close === -1 ? text.length : close + 1
      pieces.push(literal, parseReference(text.slice(dollar, end)))
      literal = ''
      at = end
    } else {
      literal += '$'
      at = dollar + 1
    }
  }
  pieces.push(literal + text.slice(at))
  return pieces.filter(piece => piece !== '')
}

function parseReference(text: string): Reference {
  const file = secretFile.exec(text)
  if (file) return { kind: 'file', file: file[1] as string, text }
  const [, name, mode, rest = ''] = variable.exec(text) ?? []
  if (name === undefined || rest.includes('${')) return { kind: 'malformed', text }
  return {
    kind: 'variable',
    name,
    text,
    otherwise: mode === '-' ? rest : undefined,
    refusal: mode === '?' ? rest : undefined,
  }
}

export type Filled =
  | {
      readonly ok: true
      readonly text: string
      readonly values: readonly string[]
      readonly fromFile: boolean
      /** Part of it is the value of a variable, not only a default in the text. */
      readonly fromVariable: boolean
      /** False where a placeholder replaces a missing value. */
      readonly isWhole: boolean
    }
  | {
      readonly ok: false
      readonly reference: Reference
      readonly code: string
      readonly message: string
      readonly remedy: string
    }

/** The result of reading a `${file:…}`: its content without the last line break, or the reason why there is none. */
export type FileContent = { readonly text: string } | { readonly diagnostic: string }

/**
 * Fills the references of one scalar: `${VAR}`, `${VAR:-default}` (unset or empty), `${VAR:?message}`,
 * `${file:/run/secrets/x}`; `$$` is a dollar sign; any other `$` stays. A forbidden name is an error.
 * `standIn` replaces unset variables and unreadable files; without it they are errors too.
 */
export function interpolate(
  text: string,
  env: Environment,
  files: ReadonlyMap<string, FileContent>,
  mayName: (reference: Reference) => boolean = () => true,
  standIn?: (reference: Reference) => string,
): Filled {
  let whole = ''
  let isWhole = true
  const values: string[] = []
  let fromFile = false
  let fromVariable = false
  for (const piece of parseReferences(text)) {
    const value = typeof piece === 'string' ? piece : mayName(piece) ? resolve(piece, env, files) : notNamed
    if (typeof value !== 'string') {
      if (!standIn || !absent.has(value.code)) return { ok: false, reference: piece as Reference, ...value }
      whole += standIn(piece as Reference)
      isWhole = false
      continue
    }
    if (typeof piece !== 'string') {
      values.push(value)
      fromFile ||= piece.kind === 'file'
      fromVariable ||= piece.kind === 'variable' && Object.hasOwn(env, piece.name) && env[piece.name] === value
    }
    whole += value
  }
  return { ok: true, text: whole, values, fromFile, fromVariable, isWhole }
}

/** Codes of missing parts of the environment: the text is correct. */
const absent: ReadonlySet<string> = new Set(['variable_unset', 'file_unreadable'])

/** The same for existing and missing names, so that it does not reveal which exist. */
const notNamed = {
  code: 'reference_not_in_use',
  message: 'found a variable or a file that the active configuration does not use',
  remedy: 'write the value itself here; new references can only be added in the file',
}

type Refusal = { readonly code: string; readonly message: string; readonly remedy: string }

function resolve(reference: Reference, env: Environment, files: ReadonlyMap<string, FileContent>): string | Refusal {
  if (reference.kind === 'malformed') {
    const remedy = 'write ${NAME}, ${NAME:-default}, ${NAME:?message} or ${file:/path}; $$ is a dollar sign'
    return { code: 'reference_malformed', message: 'found a reference that cannot be read', remedy }
  }
  if (reference.kind === 'file') {
    const content = files.get(reference.file) ?? { diagnostic: 'it was not read' }
    if ('text' in content) return content.text
    const message = `the file '${reference.file}' cannot be read: ${content.diagnostic}`
    return { code: 'file_unreadable', message, remedy: 'check that it exists and that the gateway may read it' }
  }
  const { name, otherwise, refusal } = reference
  // An object inherits names too: `${constructor}` is not a variable.
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  if (otherwise !== undefined) return value === undefined || value === '' ? otherwise : value
  if (refusal !== undefined && (value === undefined || value === '')) {
    const message = refusal === '' ? `the variable ${name} is not set` : `the variable ${name} is not set: ${refusal}`
    return { code: 'variable_unset', message, remedy: `set ${name}` }
  }
  if (value === undefined) {
    return {
      code: 'variable_unset',
      message: `the variable ${name} is not set`,
      remedy: `set ${name}, or write \${${name}:-default}`,
    }
  }
  return value
}
