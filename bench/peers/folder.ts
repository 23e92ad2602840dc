import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where peers are installed that are no part of the project. `npm run bench:peers -- --folder` sets another. */
export const peersFolder = process.env['BENCH_PEERS'] ?? join(tmpdir(), 'tollgate-bench-peers')
