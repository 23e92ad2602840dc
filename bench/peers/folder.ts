import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where peers are kept that are heavy to install and no packages of Node: outside of the repository. */
export const peersFolder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tollgate-bench')
