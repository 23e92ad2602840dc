import type { ComponentChildren } from 'preact'
import { Brand } from './brand.tsx'
import { Switches } from './switches.tsx'

/** The frame of pages for users who are not signed in. */
export function SignInFrame({ children }: { readonly children?: ComponentChildren }) {
  return (
    <div class="door">
      <header>
        <Brand />
      </header>
      <main>{children}</main>
      <footer>
        <Switches />
      </footer>
    </div>
  )
}
