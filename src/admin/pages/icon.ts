const mark =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='8' fill='#1f5fbf'/><path d='M8 24V12m0 3 16-5M24 24v-6' fill='none' stroke='#fff' stroke-width='3' stroke-linecap='round'/></svg>"

/** The mark of the console, as a link that needs no request: the pages are whole where the console is not built. */
export const icon = `data:image/svg+xml,${encodeURIComponent(mark)}`
