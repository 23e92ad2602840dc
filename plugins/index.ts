import type { AnyPlugin } from '../src/kit/index.ts'
import { auth } from './auth/plugin.ts'
import { ratelimit } from './ratelimit/plugin.ts'
import { sizeNormalize } from './size-normalize/plugin.ts'

/** The plugins that come with the gateway; a pipeline names them in the order it wants. */
export const builtins: readonly AnyPlugin[] = [auth, ratelimit, sizeNormalize]
