import type { Part } from '../domain/body.ts'
import { defineSlot } from '../domain/slots.ts'

/** The files of a form that the upstream receives. Without it, the upstream receives all of them. */
export const forwardedFilesSlot = defineSlot<ReadonlySet<Part>>('forwarded-files')
