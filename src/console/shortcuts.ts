import { signal } from '@preact/signals'
import { remember } from './remember.ts'

const choices = ['on', 'off'] as const

/** Whether single keys are shortcuts. Users of speech input turn them off (WCAG 2.1.4). */
export const hasShortcuts = signal(remember.read('shortcuts', choices) !== 'off')

export function turnShortcuts(on: boolean): void {
  hasShortcuts.value = on
  remember.write('shortcuts', on ? 'on' : 'off')
}
