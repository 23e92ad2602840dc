/** The product's mark and name, linked to the start page. */
export function Brand() {
  return (
    <a class="brand" href="/console">
      <img src="/console/icon.svg" alt="" />
      Tollgate
    </a>
  )
}
