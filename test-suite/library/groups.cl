// Functions that all threads of a workgroup call together, and copies that they make together.

// Sums, scans and truths: a row of results each.
kernel void together(global int *out, int n) {
  int t = get_local_id(0), size = get_local_size(0);
  int x = t * 7 % 5;
  out[t] = work_group_reduce_add(x);
  out[size + t] = work_group_scan_inclusive_max(x);
  out[2 * size + t] = work_group_scan_exclusive_add(x);
  out[3 * size + t] = work_group_all(x < n) + 2 * work_group_any(x >= n);
  out[4 * size + t] = work_group_broadcast(x, 3);
}

// Each thread reads what the first has copied for all.
kernel void copies(global int *out, global const int *in) {
  local int tile[64];
  event_t done = async_work_group_copy(tile, in, get_local_size(0), 0);
  wait_group_events(1, &done);
  int other = get_local_size(0) - 1 - get_local_id(0);
  out[get_local_id(0)] = tile[other];
  barrier(CLK_LOCAL_MEM_FENCE);
  done = async_work_group_strided_copy(tile, in, get_local_size(0) / 2, 2, 0);
  wait_group_events(1, &done);
  out[get_local_size(0) + get_local_id(0)] = tile[get_local_id(0) / 2];
}
