// Last step of `npm ci`: removes files of packages that nothing reads, 150 MB of 800.
const { globSync, lstatSync, rmSync } = require('node:fs')
const path = require('node:path')

const packages = path.resolve(__dirname, '../../node_modules')

// The package `node` installs the package of its platform in its own folder, and links that program into `bin`. The
// other files are headers and pages.
const home = path.join(packages, 'node')
const program = lstatSync(path.join(home, 'bin/node'), { throwIfNoEntry: false })
if (program?.isFile() && program.size > 1_000_000)
  rmSync(path.join(home, 'node_modules'), { recursive: true, force: true })

// Source maps name the lines that a package was made of, most of which are not in the package.
for (const file of globSync('**/*.{js,mjs,cjs,ts,mts,cts,css}.map', { cwd: packages, exclude: ['.cache'] }))
  rmSync(path.join(packages, file))
