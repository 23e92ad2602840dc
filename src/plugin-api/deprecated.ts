import type { ConfigDifference, StoredConfig } from '../domain/config-history.ts'
import { createResponseMetadata, type MetadataNames, metadataNames, responseMetadataSlot } from './response-metadata.ts'
import type { ResponseMetadata } from './response-metadata.ts'
import type { ChargeItem, ChargeItemFacts } from '../domain/charge.ts'
import type {
  CallUpstream,
  PluginResponse,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from './upstream-client.ts'
import type { KeyStatus } from '../domain/vendor-keys.ts'
import type { ApiFormat } from './api-format.ts'
import type { CompiledConfig, ServerConfig } from '../domain/compiled-config.ts'
import type { ExtraLinePrice } from '../domain/extra-line-price.ts'
import type { RequestContext } from './request-context.ts'
import type { BudgetStatus } from '../domain/shapes/budget.ts'

// Names of earlier releases, for plugins and programs that use them. The next major release drops them.

/** @deprecated Use `RequestContext`. */
export type Exchange = RequestContext
/** @deprecated Use `ApiFormat`. */
export type Dialect = ApiFormat
/** @deprecated Use `CompiledConfig`. */
export type Plan = CompiledConfig
/** @deprecated Use `ServerConfig`. */
export type ServerPlan = ServerConfig
/** @deprecated Use `ResponseMetadata`. */
export type Told = ResponseMetadata
/** @deprecated Use `MetadataNames`. */
export type ToldNames = MetadataNames
/** @deprecated Use `ExtraLinePrice`. */
export type BesidePrice = ExtraLinePrice
/** @deprecated Use `BudgetStatus`. */
export type BudgetStanding = BudgetStatus
/** @deprecated Use `ChargeItem`. */
export type Line = ChargeItem
/** @deprecated Use `ChargeItemFacts`. */
export type ToldOfLine = ChargeItemFacts
/** @deprecated Use `KeyStatus`. */
export type KeyStanding = KeyStatus
/** @deprecated Use `UpstreamClient`. */
export type Asker = UpstreamClient
/** @deprecated Use `UpstreamRequest`. */
export type Question = UpstreamRequest
/** @deprecated Use `UpstreamResponse`. */
export type Heard = UpstreamResponse
/** @deprecated Use `PluginResponse`. */
export type Spoken = PluginResponse
/** @deprecated Use `CallUpstream`. */
export type Converse = CallUpstream
/** @deprecated Use `responseMetadataSlot`. */
export const toldSlot = responseMetadataSlot
/** @deprecated Use `createResponseMetadata`. */
export const createTold = createResponseMetadata
/** @deprecated Use `metadataNames`. */
export const toldNames = metadataNames
/** @deprecated Use `StoredConfig`. */
export type KeptConfig = StoredConfig
/** @deprecated Use `ConfigDifference`. */
export type KeptDifference = ConfigDifference
