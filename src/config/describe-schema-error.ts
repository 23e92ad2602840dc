import { type FormatName, formats } from './formats.ts'
import type { SchemaData } from './gateway-schema.ts'
import type { Complaint } from './report.ts'
import { suggest } from './suggest.ts'
import type { Tree } from './tree.ts'
import type { SchemaError } from './validator.ts'

const kinds: { readonly [type: string]: string } = {
  object: 'a mapping',
  array: 'a list',
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  null: 'nothing',
}

/**
 * Describes a schema error: the value that was found, and the values that are valid. `source` is the value as written.
 */
export function describeSchemaError(schemaError: SchemaError, node: Tree, source: string): Complaint {
  const { keyword, params, schema } = schemaError
  const found = describeFound(node, source)
  switch (keyword) {
    case 'additionalProperties':
      return unknownKey(String(params['additionalProperty']), schema)
    case 'required': {
      const name = String(params['missingProperty'])
      const properties = schema['properties'] as { readonly [name: string]: SchemaData } | undefined
      const { description, const: only } = properties?.[name] ?? {}
      const key = only === undefined ? name : `${name}: ${JSON.stringify(only)}`
      const remedy =
        typeof description === 'string' ? `add '${key}' (${description.replace(/\.$/, '')})` : `add '${key}'`
      return { code: 'key_missing', message: `'${name}' is missing`, remedy }
    }
    case 'type':
      return wrongType(schema, node, source, found)
    case 'enum':
    case 'const': {
      const allowed = (keyword === 'enum' ? params['allowedValues'] : [params['allowedValue']]) as readonly unknown[]
      const names = allowed.map(String)
      const near = node.kind === 'scalar' ? suggest(String(node.value), names) : undefined
      const right = `write ${listed(names)}`
      return {
        code: 'value_unknown',
        message: `found ${found}`,
        remedy: near?.startsWith('did') ? `${right}; ${near}` : right,
      }
    }
    case 'format': {
      const { name, remedy } = formats[params['format'] as FormatName]
      return { code: 'value_malformed', message: `found ${found}, which is not ${name}`, remedy }
    }
    case 'pattern':
      return {
        code: 'value_malformed',
        message: `found ${found}, which does not have the right form`,
        remedy: patternRemedy(schema),
      }
    case 'minimum':
      return bound(found, `at least ${String(params['limit'])}`)
    case 'maximum':
      return bound(found, `at most ${String(params['limit'])}`)
    case 'exclusiveMinimum':
      return bound(found, `more than ${String(params['limit'])}`)
    case 'exclusiveMaximum':
      return bound(found, `less than ${String(params['limit'])}`)
    case 'multipleOf':
      return bound(found, `a multiple of ${String(params['multipleOf'])}`)
    case 'minLength':
      return {
        code: 'value_empty',
        message: `found ${found}`,
        remedy: `write at least ${counted(params, 'character')}`,
      }
    case 'maxLength':
      return {
        code: 'value_long',
        message: `found a longer text`,
        remedy: `write at most ${counted(params, 'character')}`,
      }
    case 'minItems':
      return {
        code: 'list_short',
        message: `found ${found}${lengthOf(node)}`,
        remedy: `list at least ${counted(params, 'entry')}`,
      }
    case 'maxItems':
      return {
        code: 'list_long',
        message: `found ${found}${lengthOf(node)}`,
        remedy: `list at most ${counted(params, 'entry')}`,
      }
    case 'minProperties':
      return { code: 'mapping_short', message: `found ${found}`, remedy: `write at least ${counted(params, 'key')}` }
    case 'maxProperties':
      return { code: 'mapping_long', message: `found ${found}`, remedy: `write at most ${counted(params, 'key')}` }
    case 'uniqueItems':
      return {
        code: 'value_repeated',
        message: `found ${repeated(node, params)} twice in this list`,
        remedy: 'keep one of the two',
      }
    default:
      return {
        code: 'value_unfit',
        message: `found ${found}, which is not valid here`,
        ...(typeof schema['description'] === 'string' && { remedy: schema['description'] }),
      }
  }
}

/** Describes a key that the schema for names does not allow. */
export function describeName(schemaError: SchemaError): Complaint {
  const name = schemaError.key ?? ''
  if (schemaError.keyword === 'format') {
    const { name: what, remedy } = formats[schemaError.params['format'] as FormatName]
    return { code: 'name_malformed', message: `'${name}' is not ${what}`, remedy }
  }
  if (schemaError.keyword === 'enum') {
    const known = (schemaError.params['allowedValues'] as readonly unknown[]).map(String)
    return { ...unknownKey(name, {}), ...remedyOf(suggest(name, known)) }
  }
  if (name === '')
    return { code: 'name_malformed', message: 'found an empty name', remedy: 'add a name before the colon' }
  return {
    code: 'name_malformed',
    message: `'${name}' cannot be a name here`,
    remedy: patternRemedy(schemaError.schema),
  }
}

function unknownKey(key: string, schema: SchemaError['schema']): Complaint {
  const known = Object.keys(schema['properties'] ?? {})
  return {
    code: 'unknown_key',
    message: `unknown key '${key}'`,
    mild: true,
    ...remedyOf(suggest(key, known) ?? 'remove it'),
  }
}

function remedyOf(remedy: string | undefined): { remedy?: string } {
  return remedy === undefined ? {} : { remedy }
}

function wrongType(schema: SchemaError['schema'], node: Tree, source: string, found: string): Complaint {
  const wanted = ([] as unknown[]).concat(schema['type']).map(type => kinds[String(type)] ?? String(type))
  const money = schema['format'] === 'money' || schema['format'] === 'factor'
  if (money && node.kind === 'scalar' && typeof node.value === 'number') {
    const message = `found the unquoted number ${source}; amounts must be quoted`
    const { shape, remedy } = formats[schema['format'] as 'money' | 'factor']
    return { code: 'money_unquoted', message, remedy: shape.test(source) ? `quote it: "${source}"` : remedy }
  }
  const name = wanted.join(' or ')
  const message = `found ${found}, which is not ${name}`
  const format = formats[schema['format'] as FormatName]
  if (format)
    return { code: 'value_type', message: `found ${found}, which is not ${format.name}`, remedy: format.remedy }
  if (wanted[0] === kinds['string'] && node.kind === 'scalar' && node.value !== null) {
    return { code: 'value_type', message, remedy: `quote it: "${source}"` }
  }
  const minimum = typeof schema['minimum'] === 'number' ? ` of at least ${schema['minimum']}` : ''
  return { code: 'value_type', message, remedy: `write ${name}${minimum}` }
}

function describeFound(node: Tree, source: string): string {
  if (node.kind === 'map') return node.entries.length === 0 ? 'an empty mapping' : 'a mapping'
  if (node.kind === 'list') return node.elements.length === 0 ? 'an empty list' : 'a list'
  if (node.secret) return 'a secret'
  if (node.value === null) return source === '' ? 'nothing' : source
  if (typeof node.value === 'string') return `'${clip(node.value)}'`
  return `the ${typeof node.value === 'number' ? 'number ' : 'value '}${clip(source)}`
}

/** Describes a list with too few or too many entries. An empty list is called empty. */
function lengthOf(list: Tree): string {
  const limit = list.kind === 'list' ? list.elements.length : 0
  return limit === 0 ? '' : ` of ${counted({ limit }, 'entry')}`
}

function repeated(list: Tree, params: SchemaError['params']): string {
  const element = list.kind === 'list' ? list.elements[Number(params['i'])] : undefined
  return element?.kind === 'scalar' && !element.secret ? `'${clip(String(element.value))}'` : 'one entry'
}

function clip(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

function bound(found: string, right: string): Complaint {
  return { code: 'value_range', message: `found ${found}`, remedy: `write ${right}` }
}

function counted(params: SchemaError['params'], thing: string): string {
  const limit = Number(params['limit'])
  const many = thing === 'entry' ? 'entries' : `${thing}s`
  return `${limit} ${limit === 1 ? thing : many}`
}

function listed(names: readonly string[]): string {
  return names.length > 1 ? `${names.slice(0, -1).join(', ')} or ${names.at(-1) ?? ''}` : (names[0] ?? '')
}

function patternRemedy(schema: SchemaError['schema']): string {
  const { description, pattern } = schema
  return typeof description === 'string' ? description : `it must match ${String(pattern)}`
}
