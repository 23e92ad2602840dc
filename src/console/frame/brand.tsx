/** The product's mark and name, and the way home. */
export function Brand() {
  return (
    <a class="brand" href="/console">
      <img src="/console/icon.svg" alt="" />
      Tollgate
    </a>
  )
}
