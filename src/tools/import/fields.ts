export { type Members as Fields, membersOf as fieldsOf } from '../../util/index.ts'

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
