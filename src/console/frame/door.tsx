import type { ComponentChildren } from 'preact'
import { Brand } from './brand.tsx'
import { Switches } from './switches.tsx'

/** Around what is shown to whoever is not logged in. */
export function Door({ children }: { readonly children?: ComponentChildren }) {
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
