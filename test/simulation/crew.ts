// Threads that work off a list of tasks, each with a database of its own: a world uses one core, and a sweep has time for all.
// Which thread gets which task is the machine's business; what comes of a task depends on the task alone.
import { Worker } from 'node:worker_threads'
import type { Task, TaskResult } from './crew-thread.ts'

export interface CrewOptions {
  readonly tasks: readonly Task[]
  readonly threads: number
  /** Told after each task, in the order in which they end. Nobody begins another after it returned 'enough'. */
  readonly onResult: (result: TaskResult) => 'enough' | undefined
}

export async function workOff({ tasks, threads, onResult }: CrewOptions): Promise<void> {
  let next = 0
  let isEnough = false
  const takeTask = () => (isEnough ? undefined : tasks[next++])
  const hand = async () => {
    const thread = new Worker(new URL('./crew-thread.ts', import.meta.url))
    try {
      for (let task = takeTask(); task; task = takeTask()) {
        if (onResult(await perform(thread, task)) === 'enough') isEnough = true
      }
    } finally {
      await thread.terminate()
    }
  }
  await Promise.all(Array.from({ length: Math.min(threads, tasks.length) }, hand))
}

function perform(thread: Worker, task: Task): Promise<TaskResult> {
  return new Promise((resolve, reject) => {
    thread.once('error', reject)
    thread.once('message', (result: TaskResult) => {
      thread.off('error', reject)
      resolve(result)
    })
    thread.postMessage(task)
  })
}
