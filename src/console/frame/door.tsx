import type { ComponentChildren } from 'preact'
import { Switches } from './switches.tsx'

/** Around what is shown to whoever is not logged in. */
export function Door({ children }: { readonly children?: ComponentChildren }) {
  return (
    <div class="door">
      <header>
        <a class="brand" href="/console">
          <img src="/console/icon.svg" alt="" />
          Tollgate
        </a>
      </header>
      <main>{children}</main>
      <footer>
        <Switches />
      </footer>
    </div>
  )
}
