import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The folder of peers that are not part of the project. `npm run bench:peers -- --folder` sets another. */
export const peersFolder = process.env['BENCH_PEERS'] ?? join(tmpdir(), 'tollgate-bench-peers')
