//! CPU time of servers. Unlike wall-clock time, it does not include the time of other processes. It still depends on the processor, so
//! tests compare it with the CPU time of another command in the same run.

use super::resp::Connection;
use std::time::Duration;

/// CPU time of the server's main thread since its start. Includes a part of this INFO command.
pub fn of_main_thread(connection: &mut Connection) -> Duration {
    let text = connection.call("INFO cpu").string();
    let seconds = ["used_cpu_sys_main_thread:", "used_cpu_user_main_thread:"].map(|field| {
        let seconds = text.lines().find_map(|line| line.strip_prefix(field));
        let seconds = seconds.and_then(|seconds| seconds.trim().parse::<f64>().ok());
        seconds.unwrap_or_else(|| panic!("no number {field} in INFO"))
    });
    Duration::from_secs_f64(seconds.iter().sum())
}

/// CPU time of the server's main thread while `work` runs, and the result of `work`.
pub fn of_main_thread_during<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> T,
) -> (Duration, T) {
    let before = of_main_thread(connection);
    let result = work(connection);
    (of_main_thread(connection).saturating_sub(before), result)
}
