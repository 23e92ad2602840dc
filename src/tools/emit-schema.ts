import { writeFile } from 'node:fs/promises'
import { gatewaySchema } from '../config/index.ts'
import { builtins, loadSigners } from '../gateway/plugin-finder.ts'

// Writes the schema that editors use. Run it after a change of a schema here or in a plugin: node
// src/tools/emit-schema.ts
const file = new URL('../../schemas/gateway.schema.json', import.meta.url)
await writeFile(file, `${JSON.stringify(gatewaySchema(builtins, await loadSigners()), null, 2)}\n`)
