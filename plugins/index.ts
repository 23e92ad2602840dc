import type { AnyPlugin, AnySigner } from '../src/plugin-api/index.ts'
import { answerCache } from './answer-cache/plugin.ts'
import { attribution } from './attribution/plugin.ts'
import { auth } from './auth/plugin.ts'
import { formatBridge } from './format-bridge/plugin.ts'
import { guardPatterns } from './guard-patterns/plugin.ts'
import { guardService } from './guard-service/plugin.ts'
import { imageTierBilling } from './image-tier-billing/plugin.ts'
import { multipartRewrite } from './multipart-rewrite/plugin.ts'
import { ratelimit } from './ratelimit/plugin.ts'
import { sizeNormalize } from './size-normalize/plugin.ts'
import { tokenUsage } from './token-usage/plugin.ts'
import { translate } from './translate/plugin.ts'

/** The plugins that come with the gateway; a pipeline names them in the order it wants. */
export const builtins: readonly AnyPlugin[] = [
  auth,
  attribution,
  formatBridge,
  ratelimit,
  answerCache,
  guardPatterns,
  guardService,
  multipartRewrite,
  sizeNormalize,
  imageTierBilling,
  tokenUsage,
  translate,
]

/** Signers for upstreams, by the name in a credential; loaded on first use. */
export const signers: { readonly [name: string]: () => Promise<AnySigner> } = {
  'aws-sigv4': async () => (await import('./aws-sigv4/plugin.ts')).awsSigv4,
  'google-token': async () => (await import('./google-token/plugin.ts')).googleToken,
  'jwt-hs256': async () => (await import('./jwt-hs256/plugin.ts')).jwtHs256,
  'oauth-client': async () => (await import('./oauth-client/plugin.ts')).oauthClient,
  'tc3-hmac': async () => (await import('./tc3-hmac/plugin.ts')).tc3Hmac,
}
