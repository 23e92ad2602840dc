import type { AnyPlugin } from '../src/kit/index.ts'
import { auth } from './auth/plugin.ts'
import { imageTierBilling } from './image-tier-billing/plugin.ts'
import { multipartRewrite } from './multipart-rewrite/plugin.ts'
import { ratelimit } from './ratelimit/plugin.ts'
import { sizeNormalize } from './size-normalize/plugin.ts'
import { tokenUsage } from './token-usage/plugin.ts'
import { translate } from './translate/plugin.ts'

/** The plugins that come with the gateway; a pipeline names them in the order it wants. */
export const builtins: readonly AnyPlugin[] = [
  auth,
  ratelimit,
  multipartRewrite,
  sizeNormalize,
  imageTierBilling,
  tokenUsage,
  translate,
]
