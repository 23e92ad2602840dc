import { defineSlot } from './slots.ts'
import type { Group } from './model.ts'
import type { Key } from './shapes/key.ts'

/** Who is asking: given by the plugin that checks keys. */
export type Caller = { readonly key: Key; readonly group: Group }

export const callerSlot = defineSlot<Caller>('caller')
