// What a thread keeps from one call to the next.
#pragma once

#include <cstddef>

#include "oriel/types.h"

namespace oriel::cpu {

/// A T of this thread's for as long as this lives: one that the thread has kept, as it was left, or a new one. Those in
/// use form a stack, so what is called while this lives, even a call of another task that the thread takes while it
/// waits, gets another T, and at the same depth of calls always the same one. Made and destroyed by one thread.
/// T says how large it is, bytes(), and how much memory all that a thread keeps without using them may have: kKeep.
template <class T>
class Kept {
 public:
  Kept() : idle_(&idle_of_thread), node_(idle_->first) {
    if (node_ == nullptr) {
      static thread_local const AtExit at_exit;
      (void)at_exit;
      node_ = new Node;
      return;
    }
    idle_->first = node_->next;
    idle_->bytes -= node_->bytes;
  }
  ~Kept() {
    node_->bytes = node_->object.bytes();
    if (node_->bytes > T::kKeep || idle_->ended) {
      delete node_;
      return;
    }
    while (idle_->bytes + node_->bytes > T::kKeep) idle_->drop();  // of calls deeper than this one
    node_->next = idle_->first;
    idle_->first = node_;
    idle_->bytes += node_->bytes;
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  T& operator*() { return node_->object; }
  T* operator->() { return &node_->object; }

 private:
  struct Node {
    T object;
    Node* next = nullptr;
    index_t bytes = 0;
  };
  struct Idle {  // trivial, so that what runs when a thread ends may still call
    Node* first = nullptr;
    index_t bytes = 0;
    bool ended = false;

    void drop() {
      Node* const node = first;
      first = node->next;
      bytes -= node->bytes;
      delete node;
    }
  };
  struct AtExit {
    ~AtExit() {
      idle_of_thread.ended = true;
      while (idle_of_thread.first != nullptr) idle_of_thread.drop();
    }
  };
  static constinit thread_local Idle idle_of_thread;

  Idle* idle_;
  Node* node_;
};

template <class T>
constinit thread_local typename Kept<T>::Idle Kept<T>::idle_of_thread{};

}  // namespace oriel::cpu
