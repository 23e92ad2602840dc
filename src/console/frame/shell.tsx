import { Skeleton } from '../kit/skeleton.tsx'

/** The outline of a page, until it is known who looks; `index.html` has the same for as long as no script is there. */
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
