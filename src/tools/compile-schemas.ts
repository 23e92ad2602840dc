import { compileSchemas } from '../config/compile-schemas.ts'
import { builtins, loadSigners } from '../gateway/plugin-finder.ts'

// Compiles the schemas that a start needs, to dist; `npm ci` and `npm run build` run this script.
await compileSchemas(builtins, await loadSigners())
