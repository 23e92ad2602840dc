import { Skeleton } from '../kit/skeleton.tsx'

/** The outline of a page until the session is known; `index.html` contains the same until the script has loaded. */
export function Shell() {
  return (
    <div class="frame shell">
      <div class="top" />
      <div class="side" />
      <main>
        <Skeleton shape="page" />
      </main>
    </div>
  )
}
