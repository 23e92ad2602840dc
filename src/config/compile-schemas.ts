import { Ajv, _ } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { AnyPlugin, AnySigner } from '../plugin-api/index.ts'
import { tableSchema } from './compose/table-schema.ts'
import { formats } from './formats.ts'
import { coreSchema, optionsSchema, type SchemaData } from './gateway-schema.ts'
import { ajvOptions, compiledFile, digestOf } from './validator.ts'

/** Compiles the schemas of the gateway, its plugins and its signers into one file, which `createValidator` reads. */
export async function compileSchemas(plugins: readonly AnyPlugin[], signers: readonly AnySigner[]): Promise<void> {
  const ajv = new Ajv({ ...ajvOptions, code: { ...ajvOptions.code, source: true, formats: _`formats` } })
  const ofPlugins = plugins.flatMap(plugin => [optionsSchema(plugin), ...(plugin.facet ? [plugin.facet] : [])])
  const all: readonly SchemaData[] = [coreSchema, tableSchema, ...ofPlugins, ...signers.map(signer => signer.options)]
  const byDigest = new Map(all.map(schema => [digestOf(schema), schema]))
  for (const [digest, schema] of byDigest) ajv.addSchema(schema, digest)
  const code = standalone.default(ajv, Object.fromEntries([...byDigest.keys()].map(digest => [digest, digest])))
  await mkdir(dirname(compiledFile), { recursive: true })
  // All functions are at the top level, where Node's compile cache keeps them. `createValidator` sets
  // `exports.formats`.
  const proxies = Object.keys(formats).map(
    name => `${JSON.stringify(name)}: text => exports.formats[${JSON.stringify(name)}](text)`,
  )
  await writeFile(compiledFile, `const formats = { ${proxies.join(', ')} }\n${code}\n`)
}
