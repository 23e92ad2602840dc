import { budgetStatuses } from '../domain/budget-status.ts'
import {
  amountOfItems,
  type ChargeItem,
  type ChargeItemFacts,
  type ChargeItemRule,
  chargeItemMembers,
} from '../domain/charge.ts'
import type {
  CompiledConfig,
  ConfigFiles,
  ConfigPlugins,
  ConfigSettings,
  OtlpConfig,
  ServerConfig,
  WebhookConfig,
} from '../domain/compiled-config.ts'
import {
  type ConcurrencySlots,
  slotsOfGroup,
  slotsOfJob,
  slotsOfJobs,
  slotsOfKey,
  slotsOfUpstream,
} from '../domain/concurrency-slots.ts'
import { configHistoryJson } from '../domain/config-history-json.ts'
import type { ConfigDifference, StoredConfig } from '../domain/config-history.ts'
import type { ExtraLinePrice } from '../domain/extra-line-price.ts'
import type { BudgetStatus } from '../domain/shapes/budget.ts'
import type { KeyStatus } from '../domain/vendor-keys.ts'
import type { NewestStatus } from '../domain/watch.ts'
import { IntrusiveSet, type Member } from '../util/intrusive-set.ts'
import type { ApiFormat } from './api-format.ts'
import type { RequestContext } from './request-context.ts'
import {
  createResponseMetadata,
  type MetadataNames,
  metadataNames,
  type ResponseMetadata,
  responseMetadataSlot,
} from './response-metadata.ts'
import type {
  CallUpstream,
  PluginResponse,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from './upstream-client.ts'

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
/** @deprecated Use `ConfigSettings`. */
export type PlanSettings = ConfigSettings
/** @deprecated Use `ConfigFiles`. */
export type PlanFiles = ConfigFiles
/** @deprecated Use `ConfigPlugins`. */
export type PlanPlugins = ConfigPlugins
/** @deprecated Use `OtlpConfig`. */
export type OtlpPlan = OtlpConfig
/** @deprecated Use `WebhookConfig`. */
export type WebhookPlan = WebhookConfig
/** @deprecated Use `ChargeItemRule`. */
export type LineRule = ChargeItemRule
/** @deprecated Use `chargeItemMembers`. */
export const lineMembers = chargeItemMembers
/** @deprecated Use `amountOfItems`. */
export const amountOfLines = amountOfItems
/** @deprecated Use `budgetStatuses`. */
export const standBudgets = budgetStatuses
/** @deprecated Use `configHistoryJson`. */
export const showTaken = configHistoryJson
/** @deprecated Use `NewestStatus`. */
export type NewestStanding = NewestStatus
/** @deprecated Use `IntrusiveSet`. */
export const Roster = IntrusiveSet
/** @deprecated Use `IntrusiveSet`. */
export type Roster<T extends Member> = IntrusiveSet<T>
/** @deprecated Use `ConcurrencySlots`. */
export type CountedPlaces = ConcurrencySlots
/** @deprecated Use `slotsOfUpstream`. */
export const placesOfUpstream = slotsOfUpstream
/** @deprecated Use `slotsOfKey`. */
export const placesOfKey = slotsOfKey
/** @deprecated Use `slotsOfJobs`. */
export const placesOfJobs = slotsOfJobs
/** @deprecated Use `slotsOfJob`. */
export const placesOfJob = slotsOfJob
/** @deprecated Use `slotsOfGroup`. */
export const placesOfGroup = slotsOfGroup
