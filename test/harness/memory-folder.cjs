// Puts the temporary folders of tests into memory if possible. For each new file, ext4 searches all recently removed
// files: with the thousands of a run, that took half of the CPU time of tests with PostgreSQL. A `TMPDIR` that is set
// stays.
const { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statfsSync } = require('node:fs')
const { freemem } = require('node:os')
const path = require('node:path')

const memory = '/dev/shm'
const ofRun = /^tollgate-tests-(\d+)$/
const bytesMin = 4 * 1024 ** 3

/** Sets `TMPDIR` to a folder in memory, one for all files that a process of tap runs. */
function useMemoryFolder() {
  if (process.env['TMPDIR'] || !isFit()) return
  const folder = path.join(memory, `tollgate-tests-${process.ppid}`)
  mkdirSync(folder, { recursive: true })
  try {
    // Some tests run a process as the user nobody.
    chmodSync(folder, 0o1777)
  } catch {
    return
  }
  process.env['TMPDIR'] = folder
}

/** Removes the folder of this run, and those of runs that have ended, because files of a killed test occupy memory. */
function removeMemoryFolders() {
  if (!existsSync(memory)) return
  for (const name of readdirSync(memory)) {
    const pid = ofRun.exec(name)?.[1]
    if (pid === undefined || (Number(pid) !== process.ppid && isRunning(Number(pid)))) continue
    rmSync(path.join(memory, name), { recursive: true, force: true })
  }
}

/** Whether the folder in memory has enough space, and programs may run in it. */
function isFit() {
  if (process.platform !== 'linux') return false
  try {
    const mount = readFileSync('/proc/mounts', 'utf8').match(/^\S+ \/dev\/shm tmpfs (\S+)/m)
    if (!mount || mount[1].split(',').some(word => word === 'noexec' || word === 'ro')) return false
    const { bavail, bsize } = statfsSync(memory)
    return Math.min(bavail * bsize, freemem()) >= bytesMin
  } catch {
    return false
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

module.exports = { useMemoryFolder, removeMemoryFolders }
