// Checks an evidence pack in its own process: `node bench/evidence-process.ts <file>`. Sends its findings, time and peak memory.
import { createReadStream } from 'node:fs'
import { verifyPack } from '../src/api/evidence/verify-pack.ts'
import { timeMs } from './bench.ts'

export interface Checked {
  readonly findings: readonly string[]
  readonly members: number
  readonly ms: number
  readonly cpuMs: number
  readonly peakMb: number
}

if (import.meta.main) {
  let verdict: Awaited<ReturnType<typeof verifyPack>> | undefined
  const ms = await timeMs(async () => {
    verdict = await verifyPack(createReadStream(process.argv[2]!), null)
  })
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage()
  const checked: Checked = {
    findings: verdict!.findings.map(String),
    members: verdict!.manifest?.tables.members ?? 0,
    ms: Math.round(ms),
    cpuMs: Math.round((userCPUTime + systemCPUTime) / 1_000),
    peakMb: Math.round(maxRSS / 1_024),
  }
  process.send?.(checked, () => process.disconnect())
}
