//! parking_lot's locks for C: parking_lot.cpp has the declarations.
//!
//! The mutex is a `Mutex<()>`, which has nothing but a `RawMutex` in it, because condition variables wait with no other.

#![allow(non_upper_case_globals)] // names as C has them

use lock_api::{RawMutex as _, RawRwLock as _};
use parking_lot::{Condvar, Mutex, RawRwLock};
use std::mem::{forget, size_of};

#[no_mangle]
pub static peer_rwlock_bytes: usize = size_of::<RawRwLock>();
#[no_mangle]
pub static peer_mutex_bytes: usize = size_of::<Mutex<()>>();
#[no_mangle]
pub static peer_condition_bytes: usize = size_of::<Condvar>();

#[no_mangle]
pub unsafe extern "C" fn peer_rwlock_init(lock: *mut RawRwLock) {
    lock.write(RawRwLock::INIT);
}
#[no_mangle]
pub extern "C" fn peer_rwlock_lock(lock: &RawRwLock) {
    lock.lock_exclusive();
}
#[no_mangle]
pub unsafe extern "C" fn peer_rwlock_unlock(lock: &RawRwLock) {
    lock.unlock_exclusive();
}
#[no_mangle]
pub extern "C" fn peer_rwlock_lock_shared(lock: &RawRwLock) {
    lock.lock_shared();
}
#[no_mangle]
pub unsafe extern "C" fn peer_rwlock_unlock_shared(lock: &RawRwLock) {
    lock.unlock_shared();
}

#[no_mangle]
pub unsafe extern "C" fn peer_mutex_init(mutex: *mut Mutex<()>) {
    mutex.write(Mutex::new(()));
}
#[no_mangle]
pub unsafe extern "C" fn peer_mutex_lock(mutex: &Mutex<()>) {
    mutex.raw().lock();
}
#[no_mangle]
pub unsafe extern "C" fn peer_mutex_unlock(mutex: &Mutex<()>) {
    mutex.raw().unlock();
}

#[no_mangle]
pub unsafe extern "C" fn peer_condition_init(condition: *mut Condvar) {
    condition.write(Condvar::new());
}
/// The caller holds the mutex, before and afterwards.
#[no_mangle]
pub unsafe extern "C" fn peer_condition_wait(condition: &Condvar, mutex: &Mutex<()>) {
    let mut guard = mutex.make_guard_unchecked();
    condition.wait(&mut guard);
    forget(guard);
}
#[no_mangle]
pub extern "C" fn peer_condition_signal(condition: &Condvar) {
    condition.notify_one();
}
#[no_mangle]
pub extern "C" fn peer_condition_broadcast(condition: &Condvar) {
    condition.notify_all();
}
