import { defineSlot, type Slots } from './slots.ts'
import type { Group } from './model.ts'
import type { Key } from './shapes/key.ts'
import { serves } from './model-names.ts'

/** The caller: put by the plugin that checks keys. */
export type Caller = { readonly key: Key; readonly group: Group }

/** Whether a caller may use a model: both the key and its group must allow it. */
export function mayAsk({ key, group }: Caller, model: string): boolean {
  return serves(key.models, model) && serves(group.models, model)
}

export const callerSlot = defineSlot<Caller>('caller')

/** The model aliases for the caller of a request; undefined for none. */
export function aliasesOf({ slots }: { readonly slots: Slots }): Group['aliases'] {
  return slots.get(callerSlot)?.group.aliases
}
