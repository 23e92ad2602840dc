import { effect, signal } from '@preact/signals'
import { remember } from './remember.ts'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

export const theme = signal<Theme>(remember.read('theme', themes) ?? 'system')

/** Applies the chosen theme to the page. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value
    remember.write('theme', theme.value)
  })
}
